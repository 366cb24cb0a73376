"""Names of logged quantities become canonical."""

import pytest

from traindoctor.probes.assembly.names import base, canonical, of_a_bound, order


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("loss", "train/loss"),
        ("Train/Loss", "train/loss"),
        ("train_loss_epoch", "train/loss"),
        ("Val. Loss", "eval/loss"),
        ("eval_loss", "eval/loss"),
        ("test_loss", "test/loss"),
        ("trainLoss", "train/loss"),
        ("lm loss", "train/loss"),
        ("reduced_train_loss", "train/loss"),
        ("train/box_loss", "train/loss/box"),
        ("loss_cls", "train/loss/cls"),
        ("metrics/mAP50-95(B)", "eval/map"),
        ("metrics/precision(B)", "eval/precision"),
        ("R@1", "eval/recall"),
        ("P@10", "eval/precision"),
        ("accuracy/top1", "train/accuracy"),
        ("eval_accuracy", "eval/accuracy"),
        ("lr/pg0", "learning_rate"),
        ("learning rate", "learning_rate"),
        ("lr-AdamW", "learning_rate"),
        ("grad norm", "grad_norm"),
        ("global_norm", "grad_norm"),
        ("optim/total_grad_norm", "grad_norm"),
        ("grad_norm/layer1.weight", "grad_norm/layer1.weight"),
        ("number of skipped iterations", "skipped"),
        ("overflow cond", "overflow"),
        ("trainer/grad_norm", "grad_norm"),
        ("val/perplexity", "eval/perplexity"),
        ("multi-label/f1-score", "train/f1"),
        ("val_macro_f1_score", "eval/f1"),
        ("val_mae_kwh", "eval/mae"),
        ("val/rmse_c", "eval/rmse"),
        ("hit_at_10", "eval/hit_rate"),
        ("HR@10", "eval/hit_rate"),
        ("val_ndcg@k", "eval/ndcg"),
        ("Recall@20", "eval/recall"),
        ("test_mrr", "test/mrr"),
    ],
)
def test_known_names(raw: str, expected: str) -> None:
    """Each framework's spelling is recognised."""
    assert canonical(raw) == expected


@pytest.mark.parametrize(
    "raw",
    [
        "eval_runtime",
        "train_samples_per_second",
        "memory",
        "step_time",
        "lm loss vs samples",
        "coef",
        "hr",
        "cache_hits",
        "",
        "  ",
    ],
)
def test_clocks_and_strangers_have_no_name(raw: str) -> None:
    """What is no metric gets no canonical name."""
    assert canonical(raw) is None


def test_the_reader_knows_better_than_the_name() -> None:
    """A reader that knows the data set decides: mmcv's validation rows say only "loss"."""
    assert canonical("loss", "eval") == "eval/loss"


def test_base_tells_the_direction() -> None:
    """The table knows which metrics are better when smaller."""
    loss, error = base("eval/accuracy"), base("eval/rmse")

    assert loss is not None and loss.fraction and not loss.lower
    assert error is not None and error.lower


def test_metrics_of_rankers_forecasters_and_segmenters() -> None:
    """AUC per group, percentage errors, bits, and the spellings of OpenMMLab."""
    assert canonical("val_gauc") == "eval/auc"
    assert canonical("val/MAPE") == "eval/mape" and canonical("wape") == "train/mape"
    assert canonical("val_bpb") == "eval/bits"
    learner = "info/learner/default_policy/learner_stats/"  # RLlib
    assert canonical(learner + "kl") == "approx_kl" and canonical(learner + "cur_lr") == "learning_rate"
    assert canonical(learner + "entropy") == "train/entropy"
    assert canonical("mIoU") == "eval/iou" and canonical("aAcc", "eval") == "eval/accuracy"
    assert canonical("coco/bbox_mAP_50") == "eval/map50"
    assert canonical("grad/global_norm") == "grad_norm"


def test_the_usual_name_of_a_loss_stands_before_that_of_a_term() -> None:
    """A run that logs `loss` and `bce` means the whole by `loss`."""
    assert order("val_loss") < order("val_bce") and order("nothing of the kind") == 1000


@pytest.mark.parametrize(
    "raw",
    [
        *(
            "ap/person",
            "AP-cat",
            "bbox/AP-person",
            "val/ap/dog",
            "AP/bus",
            "segm/AP-car",
            "APs",
            "bbox_mAP_s",
        ),
        *("accuracy/cat", "Acc.car", "per_class_acc/3"),
        *("IoU.person", "IoU/road", "dice/liver", "dice_1", "recall_cat", "precision/0"),
        *("f1/positive", "eval_f1_PER", "eval_LOC_f1", "auc/disease_x"),
    ],
)
def test_the_metric_of_one_class_is_not_the_mean(raw: str) -> None:
    """A curve of one class has no canonical name: it would be taken for the mean over all."""
    assert canonical(raw) is None
    assert canonical(raw, "eval") is None


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("class_3_acc", "train/accuracy/3"),
        ("acc/class_0", "train/accuracy/0"),
        ("val_dice_class_2", "eval/dice/2"),
        ("eval_f1_class_1", "eval/f1/1"),
        ("val_auc_label_3", "eval/auc/3"),
        ("loss_class_3", "train/loss/class_3"),
        ("num_class_3", None),
    ],
)
def test_the_metric_of_a_numbered_class(raw: str, expected: str | None) -> None:
    """It has a name of its own below that of the metric, which is never that of the mean."""
    assert canonical(raw) == expected


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        ("bbox/AP", "eval/map"),
        ("mIoU", "eval/iou"),
        ("val/f1_macro", "eval/f1"),
        ("metrics/mAP50(B)", "eval/map50"),
    ],
)
def test_the_mean_over_classes_is_known(raw: str, name: str) -> None:
    """Names of means keep theirs."""
    assert canonical(raw) == name


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        ("fit_ce", "train/loss"),
        ("vld_ce", "eval/loss"),
        ("held-out xent", "eval/loss"),
        ("hold_out/loss", "eval/loss"),
        ("dev bpc", "eval/bits"),
        ("Top1Err", "train/error"),
        ("DEV-LL", "eval/log_likelihood"),
        ("|g|", "grad_norm"),
        ("||grad||", "grad_norm"),
        ("opt/gradL2", "grad_norm"),
        ("opt/eta", "learning_rate"),
        ("scalars/val_loss", "eval/loss"),
        ("objective/xent", "train/loss/xent"),
    ],
)
def test_names_that_people_make_up(raw: str, name: str) -> None:
    """Short words for the data sets, the cross-entropy, the error rate and the gradient's norm are known."""
    assert canonical(raw) == name


@pytest.mark.parametrize("raw", ["|x|", "|gain|", "retrofit_score", "threshold", "hold"])
def test_names_that_only_look_like_them(raw: str) -> None:
    """Bars around something else, and words that only hold such a word, make no name."""
    assert canonical(raw) is None


def test_terms_of_a_bound_need_one_another() -> None:
    """`kl` is a term of a loss beside `recon` alone."""
    assert of_a_bound(["epoch", "train_recon", "train_kl", "val_loss"]) == {"train_recon", "train_kl"}
    assert of_a_bound(["loss", "kl", "reward"]) == frozenset()
