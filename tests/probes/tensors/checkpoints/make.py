"""Makes the checkpoints beside this file: four short real trainings with torch 2.13.0 and safetensors.

    python make.py    # needs torch and safetensors; the tests do not

healthy: AdamW, saved before the first step, after 60 and after 120; log.jsonl beside it.
frozen: the same, with the first block left out of the optimizer by mistake.
bf16: parameters themselves in bfloat16, lr 1e-4: scales of the norms round back to 1.0.
legacy: the healthy run's first two once more, in the form of torch before 1.6.
saved: weights alone in safetensors, in the folders that the Hugging Face Trainer makes, optimizer.pt in one.
"""

import json
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import nn

HERE = Path(__file__).parent


def model() -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(6, 12), nn.BatchNorm1d(12), nn.ReLU(), nn.Linear(12, 12), nn.LayerNorm(12), nn.Linear(12, 3)
    )


def train(name: str, *, frozen: bool = False, half: bool = False, lr: float = 3e-3, hf: bool = False) -> None:
    torch.manual_seed(0)
    folder = HERE / name
    folder.mkdir(exist_ok=True)
    net = model()
    if half:
        net = net.to(torch.bfloat16)
    kind = torch.bfloat16 if half else torch.float32
    x = torch.randn(512, 6)
    y = (x[:, :3] + 0.3 * x[:, 3:]).argmax(1)
    trained = [p for n, p in net.named_parameters() if not (frozen and n.startswith("0."))]
    optimizer = torch.optim.AdamW(trained, lr=lr)

    def save(step: int) -> None:
        if hf:
            to = folder / f"checkpoint-{step}"
            to.mkdir(exist_ok=True)
            save_file(net.state_dict(), to / "model.safetensors", {"format": "pt"})
            (to / "trainer_state.json").write_text(json.dumps({"global_step": step, "log_history": []}))
            if step == 60:
                torch.save(optimizer.state_dict(), to / "optimizer.pt")
        elif step == 0:
            torch.save(net.state_dict(), folder / "init.pt")
        else:
            state = {"model": net.state_dict(), "optimizer": optimizer.state_dict(), "step": step}
            torch.save(state, folder / f"step_{step}.pt")

    rows = []
    save(0)
    for step in range(1, 121):
        at = torch.randint(0, 512, (32,))
        loss = nn.functional.cross_entropy(net(x[at].to(kind)).float(), y[at])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        rows.append({"step": step, "loss": round(loss.item(), 5), "lr": lr})
        if step % 60 == 0:
            save(step)
    if not hf:
        (folder / "log.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))


if __name__ == "__main__":
    train("healthy")
    train("frozen", frozen=True)
    train("bf16", half=True, lr=1e-4)
    train("saved", hf=True)
    for name in ("init.pt", "step_60.pt"):
        content = torch.load(HERE / "healthy" / name)
        (HERE / "legacy").mkdir(exist_ok=True)
        torch.save(content, HERE / "legacy" / name, _use_new_zipfile_serialization=False)
