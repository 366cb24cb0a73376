from typing import Optional

import torch
from torch import nn


class SpanReader(nn.Module):
    """Transformer encoder + learned mix of its last layers + span head + answerable/not head."""

    def __init__(self, encoder: nn.Module, mix_layers: int = 4, dropout: float = 0.1):
        super().__init__()
        self.encoder = encoder
        self.mix_layers = mix_layers
        hidden = encoder.config.hidden_size
        self.mix = nn.Parameter(torch.zeros(mix_layers))
        self.gamma = nn.Parameter(torch.ones(1))
        self.dropout = nn.Dropout(dropout)
        self.span_head = nn.Sequential(
            nn.Linear(hidden, hidden),
            nn.GELU(),
            nn.LayerNorm(hidden),
            nn.Linear(hidden, 2),
        )
        self.answer_head = nn.Linear(hidden, 1)
        self.ce = nn.CrossEntropyLoss(ignore_index=-100, reduction="sum")
        self.bce = nn.BCEWithLogitsLoss()
        for module in (self.span_head, self.answer_head):
            module.apply(self._init_linear)

    @staticmethod
    def _init_linear(module: nn.Module) -> None:
        if isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, std=0.02)
            nn.init.zeros_(module.bias)

    def encode(self, input_ids, attention_mask, token_type_ids):
        out = self.encoder(
            input_ids=input_ids,
            attention_mask=attention_mask,
            token_type_ids=token_type_ids,
            output_hidden_states=True,
        )
        layers = out.hidden_states[-self.mix_layers :]
        weights = torch.softmax(self.mix, dim=0)
        return self.gamma * sum(w * layer for w, layer in zip(weights, layers))

    def forward(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        token_type_ids: torch.Tensor,
        context_mask: torch.Tensor,
        start_positions: Optional[torch.Tensor] = None,
        end_positions: Optional[torch.Tensor] = None,
        answerable: Optional[torch.Tensor] = None,
    ) -> dict[str, torch.Tensor]:
        hidden = self.encode(input_ids, attention_mask, token_type_ids)
        logits = self.span_head(self.dropout(hidden)).float()
        # only context tokens can start or end an answer
        logits = logits.masked_fill(context_mask.unsqueeze(-1) == 0, -1e4)
        start_logits, end_logits = logits.unbind(dim=-1)
        answer_logits = self.answer_head(self.dropout(hidden[:, 0])).squeeze(-1).float()

        out = {"start_logits": start_logits, "end_logits": end_logits, "answer_logits": answer_logits}
        if start_positions is not None:
            # windows without the answer carry -100 in both positions
            n = (start_positions != -100).sum().clamp(min=1)
            span_loss = (self.ce(start_logits, start_positions) + self.ce(end_logits, end_positions)) / (2 * n)
            answer_loss = self.bce(answer_logits, answerable.float())
            out = {"loss": span_loss + answer_loss, **out}
        return out
