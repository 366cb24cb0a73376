"""Synchronous training over the local accelerators with tf.distribute.MirroredStrategy."""

import os

import tensorflow as tf

from network import DelayNet
from pipeline import DELAY_STD, make_dataset
from settings import Settings


class Trainer:
    def __init__(self, settings: Settings):
        self.settings = settings
        self.strategy = tf.distribute.MirroredStrategy()
        self.global_batch = settings.per_replica_batch * self.strategy.num_replicas_in_sync
        self.steps_per_epoch = settings.train_examples // self.global_batch
        train = make_dataset(settings, self.global_batch, training=True)
        evaluation = make_dataset(settings, self.global_batch, training=False)
        self.train_ds = self.strategy.experimental_distribute_dataset(train)
        self.eval_ds = self.strategy.experimental_distribute_dataset(evaluation)
        with self.strategy.scope():
            self.model = DelayNet(settings)
            peak = settings.base_lr * self.strategy.num_replicas_in_sync
            schedule = tf.keras.optimizers.schedules.CosineDecay(
                0.1 * peak,
                decay_steps=(settings.epochs - settings.warmup_epochs) * self.steps_per_epoch,
                warmup_target=peak,
                warmup_steps=settings.warmup_epochs * self.steps_per_epoch,
            )
            self.optimizer = tf.keras.optimizers.AdamW(schedule, weight_decay=settings.weight_decay)
            self.loss_object = tf.keras.losses.Huber(reduction=tf.keras.losses.Reduction.NONE)
            self.train_loss = tf.keras.metrics.Mean(name="train_loss")
            self.eval_mae = tf.keras.metrics.Mean(name="eval_mae")
        self.epoch = tf.Variable(0, trainable=False, dtype=tf.int64)
        self.checkpoint = tf.train.Checkpoint(model=self.model, optimizer=self.optimizer, epoch=self.epoch)
        self.manager = tf.train.CheckpointManager(self.checkpoint, settings.model_dir, max_to_keep=3)

    def compute_loss(self, target, prediction):
        per_example = self.loss_object(target[:, None], prediction[:, None])
        return tf.nn.compute_average_loss(per_example, global_batch_size=self.global_batch)

    def _step(self, batch):
        inputs, target = batch
        with tf.GradientTape() as tape:
            prediction = self.model(inputs, training=True)
            loss = self.compute_loss(target, prediction)
        grads = tape.gradient(loss, self.model.trainable_variables)
        grads = [tf.clip_by_norm(g, self.settings.clip_norm) for g in grads]
        self.optimizer.apply_gradients(zip(grads, self.model.trainable_variables))
        return loss

    @tf.function
    def train_step(self, batch):
        per_replica = self.strategy.run(self._step, args=(batch,))
        return self.strategy.reduce(tf.distribute.ReduceOp.SUM, per_replica, axis=None)

    @tf.function
    def eval_step(self, batch):
        def replica(batch):
            inputs, target = batch
            prediction = self.model(inputs, training=False)
            self.eval_mae.update_state(tf.abs(target - prediction) * DELAY_STD)

        self.strategy.run(replica, args=(batch,))

    def fit(self):
        if self.manager.latest_checkpoint:
            self.checkpoint.restore(self.manager.latest_checkpoint)
        best = float("inf")
        iterator = iter(self.train_ds)
        for epoch in range(int(self.epoch.numpy()), self.settings.epochs):
            self.train_loss.reset_state()
            for _ in range(self.steps_per_epoch):
                self.train_loss.update_state(self.train_step(next(iterator)))
            self.eval_mae.reset_state()
            for batch in self.eval_ds:
                self.eval_step(batch)
            mae = float(self.eval_mae.result())
            print(f"epoch {epoch}: loss {float(self.train_loss.result()):.4f} mae {mae:.2f} min")
            self.epoch.assign(epoch + 1)
            self.manager.save()
            if mae < best:
                best = mae
                self.model.save_weights(os.path.join(self.settings.model_dir, "best.weights.h5"))


def main():
    settings = Settings()
    tf.keras.utils.set_random_seed(settings.seed)
    Trainer(settings).fit()


if __name__ == "__main__":
    main()
