"""Forgetting dialogues: every place of a project that holds them, in `places.py`; docs/champion.md."""

from __future__ import annotations

from dial2vec.operation.forgetting.forgetting import ForgetPlan, forget, plan_forget

__all__ = ["ForgetPlan", "forget", "plan_forget"]
