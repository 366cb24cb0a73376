# ruff: noqa: E501
"""Known mistakes for the books of PyTorch: ports to Ascend, older programs, the libraries of Hugging Face."""

from __future__ import annotations

from .composed import Fault

LOSS, MODE = ("graph.loss-function",), ("graph.node-mode",)
SIDES, SHUFFLE = ("processing.train-eval-mismatch",), ("processing.not-shuffled",)
SCHEDULE, LOGIC = ("hyperparameter.schedule-wrong",), ("evaluation.logic",)
SCALE = ("porting.loss-scale-missing", "hyperparameter.loss-scale")
CLEARED, RESUME = ("state.gradients-not-cleared",), ("state.resume",)
RATE = ("hyperparameter.learning-rate-too-large",)
PLAIN = "            with amp.scale_loss(loss, optimizer) as scaled_loss:\n                scaled_loss.backward()\n"

PORTS = (
    Fault("not set to training again", MODE, (("        model.train()\n", ""),)),
    Fault("evaluated in training mode", MODE, (("    model.eval()\n", ""),)),
    Fault("gradients not cleared", CLEARED, (("            optimizer.zero_grad()\n", ""),)),
    Fault(
        "clipped before it is unscaled",
        (*SCALE, "porting.training-procedure", "api.misuse"),
        (("            scaler.unscale_(optimizer)\n", ""),),
    ),
    Fault("apex without its scale", SCALE, ((PLAIN, "            loss.backward()\n"),)),
    Fault(
        "scaler left out",
        SCALE,
        (
            ("scaler.scale(loss).backward()", "loss.backward()"),
            ("scaler.step(optimizer)\n            scaler.update()", "optimizer.step()"),
            ("            scaler.unscale_(optimizer)\n", ""),
        ),
    ),
    Fault(
        "scaler left out",
        SCALE,
        (
            (
                "scaler.scale(loss).backward()\n            scaler.step(optimizer)\n            scaler.update()",
                "loss.backward()\n            optimizer.step()",
            ),
        ),
    ),
    Fault("scale of one", SCALE, (("loss_scale=args.loss_scale", "loss_scale=1.0"),)),
    Fault(
        "epoch not told to the sampler",
        SHUFFLE,
        (("        if distributed:\n            train_sampler.set_epoch(epoch)\n", ""),),
        "DistributedSampler(train",
    ),
    Fault(
        "model not wrapped",
        ("porting.distributed-not-enabled", "state.replica-desync"),
        (
            (
                "    if distributed:\n        model = torch.nn.parallel.DistributedDataParallel(model, device_ids=[local_rank], broadcast_buffers=False)\n",
                "",
            ),
        ),
        "init_process_group",
    ),
    Fault(
        "softmax before the loss",
        LOSS,
        (("criterion(model(images), target)", "criterion(F.softmax(model(images), dim=1), target)"),),
    ),
    Fault(
        "softmax before the loss",
        LOSS,
        (
            (
                "output = model(images)\n            loss",
                "output = torch.softmax(model(images), dim=-1)\n            loss",
            ),
        ),
    ),
    Fault(
        "stepped each batch",
        SCHEDULE,
        (
            ("        scheduler.step()\n        acc1", "        acc1"),
            (
                "            if i % args.print_freq",
                "            scheduler.step()\n            if i % args.print_freq",
            ),
        ),
        "T_max=args.epochs",
    ),
    Fault(
        "stepped each batch",
        SCHEDULE,
        (
            ("        scheduler.step()\n        acc1", "        acc1"),
            (
                "            if i % args.print_freq",
                "            scheduler.step()\n            if i % args.print_freq",
            ),
        ),
        "milestones=[30",
    ),
    Fault(
        "stepped each epoch",
        SCHEDULE,
        (
            ("            scheduler.step()\n", ""),
            ("        acc1 = validate(", "        scheduler.step()\n        acc1 = validate("),
        ),
        "OneCycleLR",
    ),
    Fault(
        "schedule not restored",
        RESUME,
        (("        scheduler.load_state_dict(checkpoint['scheduler'])\n", ""),),
    ),
    Fault(
        "optimizer not restored",
        RESUME,
        (("        optimizer.load_state_dict(checkpoint['optimizer'])\n", ""),),
    ),
    Fault(
        "evaluation not normalised",
        SIDES,
        (
            (
                "transforms.CenterCrop(224), transforms.ToTensor(), normalize]",
                "transforms.CenterCrop(224), transforms.ToTensor()]",
            ),
        ),
    ),
    Fault(
        "evaluation not normalised",
        SIDES,
        (
            (
                "[transforms.Resize(128), transforms.ToTensor(), normalize]",
                "[transforms.Resize(128), transforms.ToTensor()]",
            ),
        ),
    ),
    Fault(
        "evaluation augmented",
        SIDES,
        (("transforms.Resize(256), transforms.CenterCrop(224)", "transforms.RandomResizedCrop(224)"),),
    ),
    Fault("hits over batches", LOGIC, (("total += target.size(0)", "total += 1"),)),
    Fault("sign of the loss", LOSS, (("nll_loss = -logprobs", "nll_loss = logprobs"),)),
    Fault(
        "step before backward",
        ("porting.training-procedure",),
        (
            (
                "            loss.backward()\n            optimizer.step()\n",
                "            optimizer.step()\n            loss.backward()\n",
            ),
        ),
    ),
)
OLD = (
    Fault("not set to training again", MODE, (("    net.train()\n", ""),)),
    Fault("evaluated in training mode", MODE, (("    net.eval()\n", ""),)),
    Fault("gradients not cleared", CLEARED, (("        optimizer.zero_grad()\n", ""),)),
    Fault("gradients not cleared", CLEARED, (("        net.zero_grad()\n", ""),)),
    Fault(
        "softmax before the loss", LOSS, (("return self.linear(out)", "return F.softmax(self.linear(out))"),)
    ),
    Fault(
        "softmax before the loss",
        LOSS,
        (("return self.classifier(out)", "return F.softmax(self.classifier(out), dim=1)"),),
    ),
    Fault(
        "stepped each batch",
        SCHEDULE,
        (
            ("    scheduler.step()\n", ""),
            ("        optimizer.step()\n", "        optimizer.step()\n        scheduler.step()\n"),
        ),
        "milestones=[60",
    ),
    Fault(
        "evaluation augmented",
        SIDES,
        (
            (
                "transform_test = transforms.Compose([\n",
                "transform_test = transforms.Compose([\n    transforms.RandomCrop(32, padding=4),\n",
            ),
        ),
    ),
    Fault(
        "evaluation not normalised",
        SIDES,
        (
            (
                "train=False, transform=transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010))])",
                "train=False, transform=transforms.Compose([transforms.ToTensor()])",
            ),
        ),
    ),
    Fault("loss of batches over samples", LOGIC, ((", size_average=False", ""),)),
    Fault(
        "scored on training data",
        (*LOGIC, "data.leakage"),
        (("in enumerate(testloader)", "in enumerate(trainloader)"),),
    ),
)
SENTIMENT = (
    Fault(
        "sigmoid before the loss",
        LOSS,
        (("return self.fc(hidden)", "return torch.sigmoid(self.fc(hidden))"),),
    ),
    Fault(
        "sigmoid before the loss",
        LOSS,
        (
            (
                "return self.fc(self.dropout(torch.cat(pooled, dim=1)))",
                "return torch.sigmoid(self.fc(self.dropout(torch.cat(pooled, dim=1))))",
            ),
        ),
    ),
    Fault("not shuffled", SHUFFLE, (("repeat=False, shuffle=True", "repeat=False, shuffle=False"),)),
    Fault(
        "chosen by the test set",
        ("data.leakage",),
        (("evaluate(model, valid_iterator, criterion)", "evaluate(model, test_iterator, criterion)"),),
    ),
    Fault("evaluated in training mode", MODE, (("    model.eval()\n", ""),)),
    Fault("not set to training again", MODE, (("    model.train()\n", ""),)),
    Fault("rounded logits", LOGIC, (("torch.round(torch.sigmoid(preds))", "torch.round(preds)"),)),
    Fault("gradients not cleared", CLEARED, (("        optimizer.zero_grad()\n", ""),)),
    Fault("rate", RATE, (("lr=1e-3", "lr=0.5"),)),
)
TASKS = (
    Fault(
        "special tokens count",
        ("processing.label-masking",),
        (("new_labels.append(-100", "new_labels.append(0"),),
    ),
    Fault(
        "ignored positions are scored",
        LOGIC,
        (
            ("zip(prediction, label) if l != -100]", "zip(prediction, label)]"),
            ("for l in label if l != -100]", "for l in label]"),
        ),
    ),
    Fault(
        "scored on training data",
        (*LOGIC, "data.leakage"),
        (("eval_dataset=eval_set", "eval_dataset=train_set"),),
    ),
    Fault(
        "chosen by the test set",
        ("data.leakage",),
        (("eval_dataset=eval_set", "eval_dataset=test_set"),),
        "trainer.evaluate(test_set)",
    ),
    Fault(
        "worst checkpoint",
        ("evaluation.wrong-checkpoint",),
        (("greater_is_better=True", "greater_is_better=False"),),
    ),
    Fault(
        "evaluation not normalised",
        SIDES,
        (("CenterCrop(size), ToTensor(), normalize]", "CenterCrop(size), ToTensor()]"),),
    ),
    Fault(
        "other sampling rate",
        ("processing.parameters", "processing.algorithm"),
        (("Audio(sampling_rate=16_000)", "Audio(sampling_rate=8_000)"),),
    ),
    Fault(
        "argmax over samples", LOGIC, (("np.argmax(predictions, axis=1)", "np.argmax(predictions, axis=0)"),)
    ),
    Fault("rate", RATE, (("learning_rate=3e-5", "learning_rate=3e-2"),)),
    Fault(
        "adapters for inference", ("graph.weight-frozen",), (("inference_mode=False", "inference_mode=True"),)
    ),
    Fault(
        "tokenizer of another model",
        ("processing.tokenizer-mismatch",),
        (
            (
                "AutoTokenizer.from_pretrained('distilbert-base-uncased')",
                "AutoTokenizer.from_pretrained('bert-base-cased')",
            ),
        ),
    ),
)
ACCELERATE = (
    Fault(
        "schedule not prepared",
        SCHEDULE,
        (
            (
                "train_dataloader, eval_dataloader, lr_scheduler = accelerator.prepare(model, optimizer, train_dataloader, eval_dataloader, lr_scheduler)",
                "train_dataloader, eval_dataloader = accelerator.prepare(model, optimizer, train_dataloader, eval_dataloader)",
            ),
        ),
        "accelerator.accumulate",
    ),
    Fault(
        "schedule of micro batches",
        SCHEDULE,
        (
            (
                "total = (len(train_dataloader) * args.num_epochs) // args.gradient_accumulation_steps",
                "total = len(train_dataloader) * args.num_epochs",
            ),
        ),
    ),
    Fault(
        "sum of losses",
        ("state.gradient-accumulation",),
        (("            loss = loss / args.gradient_accumulation_steps\n", ""),),
    ),
    Fault(
        "divided twice",
        ("state.gradient-accumulation",),
        (("loss = outputs.loss\n", "loss = outputs.loss / args.gradient_accumulation_steps\n"),),
    ),
    Fault("gradients not cleared", CLEARED, (("            optimizer.zero_grad()\n", ""),)),
    Fault(
        "backward without its scale",
        SCALE,
        (("accelerator.backward(loss)", "loss.backward()"),),
        "mixed_precision='fp16'",
    ),
    Fault(
        "clipped before it is unscaled",
        (*SCALE, "porting.training-procedure", "api.misuse"),
        (("accelerator.clip_grad_norm_(", "torch.nn.utils.clip_grad_norm_("),),
        "mixed_precision='fp16'",
    ),
    Fault("evaluated in training mode", MODE, (("model.eval()\n", "pass\n"),)),
    Fault("not set to training again", MODE, (("        model.train()\n", ""),)),
    Fault("not shuffled", SHUFFLE, (("shuffle=True", "shuffle=False"),)),
    Fault(
        "padded samples are scored",
        LOGIC,
        (("accelerator.gather_for_metrics((predictions", "accelerator.gather((predictions"),),
    ),
)
ADAPTERS = (
    Fault(
        "prompt counts",
        ("processing.label-masking",),
        (("labels[:n] = [-100] * n", "labels[:n] = [tokenizer.pad_token_id] * n"),),
    ),
    Fault(
        "template that is not in the text",
        ("processing.label-masking",),
        (
            (
                "DataCollatorForCompletionOnlyLM('### Answer:'",
                "DataCollatorForCompletionOnlyLM('### Response:'",
            ),
        ),
    ),
    Fault("rate", RATE, (("learning_rate=3e-4", "learning_rate=3e-2"),)),
    Fault("rate", RATE, (("learning_rate=5e-6", "learning_rate=5e-3"),)),
    Fault("rate", RATE, (("learning_rate=2e-4", "learning_rate=2e-2"),)),
)
