import os

from mindspore import save_checkpoint
from mindspore.train.callback import Callback


class EvalCallBack(Callback):
    """Evaluates every few epochs and keeps the best weights."""

    def __init__(self, model, eval_dataset, folder, interval=1):
        super(EvalCallBack, self).__init__()
        self.model = model
        self.eval_dataset = eval_dataset
        self.interval = interval
        self.best_path = os.path.join(folder, "best.ckpt")
        self.best_res = 0.0

    def epoch_end(self, run_context):
        params = run_context.original_args()
        epoch = params.cur_epoch_num
        if epoch % self.interval == 0 or epoch == params.epoch_num:
            res = self.model.eval(self.eval_dataset, dataset_sink_mode=False)["top_1_accuracy"]
            print("epoch: {}, accuracy: {:.4f}".format(epoch, res), flush=True)
            if res >= self.best_res:
                self.best_res = res
                save_checkpoint(params.train_network, self.best_path)
