import logging

import torch
from torch.utils.data import DataLoader

from config import Config
from features import FeaturePipeline, load_frame, split_frame
from trainer import RentModel, Trainer


def main() -> None:
    logging.basicConfig(level=logging.INFO)
    cfg = Config()
    torch.manual_seed(cfg.data.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    frame = load_frame(cfg.data)
    train_frame, val_frame = split_frame(frame, cfg.data)
    pipeline = FeaturePipeline(cfg.data).fit(train_frame)
    train_loader = DataLoader(
        pipeline.transform(train_frame), batch_size=cfg.train.batch_size, shuffle=True, drop_last=True
    )
    val_loader = DataLoader(pipeline.transform(val_frame), batch_size=1024)

    model = RentModel(len(cfg.data.numeric), pipeline.cardinalities, cfg.model)
    trainer = Trainer(model, pipeline, cfg.train, device)
    trainer.fit(train_loader, val_loader)
    logging.info("best: %s", trainer.validate(val_loader))
    trainer.save()


if __name__ == "__main__":
    main()
