import argparse

from engine import DataManager, EncoderFactory, PairTrainer, WorldManager


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", default="maps")
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--batch", type=int, default=64, help="pairs per process")
    parser.add_argument("--accumulate", type=int, default=2)
    parser.add_argument("--rate", type=float, default=5e-4)
    parser.add_argument("--warmup-epochs", type=int, default=2)
    parser.add_argument("--resume", default="")
    args = parser.parse_args()

    world = WorldManager()
    data = DataManager(args.root, args.batch, world)
    factory = EncoderFactory(128)
    trainer = PairTrainer(world, data, factory, args)
    if args.resume:
        trainer.restore(args.resume)
    trainer.run()
    world.close()


if __name__ == "__main__":
    main()
