import numpy as np

PLANS = ["prepaid", "basic", "family", "premium", "business"]
PAYMENT = ["card", "transfer", "direct_debit", "invoice"]
REGIONS = [f"region_{i:02d}" for i in range(12)]


def load_customers(n, random_state):
    """Snapshot of the customer base with the churn flag of the following month."""
    r = np.random.RandomState(random_state)
    plan = r.choice(len(PLANS), n, p=[0.25, 0.3, 0.2, 0.15, 0.1])
    pay = r.choice(len(PAYMENT), n, p=[0.35, 0.2, 0.3, 0.15])
    region = r.choice(len(REGIONS), n)
    tenure = r.gamma(1.6, 18, n)
    charge = np.array([9, 18, 35, 49, 60])[plan] * r.lognormal(0, 0.2, n)
    minutes = r.lognormal(5.2, 0.7, n)
    data_gb = r.lognormal(1.6 + 0.25 * plan, 0.8, n)
    calls = r.poisson(0.8 + 1.2 * (r.rand(n) < 0.2), n)
    late = r.poisson(0.4, n)
    contract_left = np.clip(r.exponential(8, n) * (plan > 0), 0, 24)
    region_effect = np.random.RandomState(0).normal(0, 0.5, len(REGIONS))
    z = (-1.9 + 1.1 * (tenure < 8) - 0.018 * tenure + 0.8 * calls + 0.6 * late - 0.16 * contract_left
         + 0.02 * (charge - 25) * (data_gb < 6) + np.array([0.9, 0.2, -0.4, -0.2, -0.8])[plan]
         + np.array([0, 0.5, -0.7, 0.3])[pay] + region_effect[region])
    churn = (r.rand(n) < 1 / (1 + np.exp(-1.4 * z))).astype(np.float32)
    numeric = np.column_stack([tenure, charge, minutes, data_gb, calls, late, contract_left]).astype(np.float32)
    categorical = np.column_stack([plan, pay, region]).astype(np.int64)
    return numeric, categorical, churn


class StandardScaler:
    def fit(self, x):
        self.mean_ = x.mean(axis=0)
        self.scale_ = x.std(axis=0)
        return self

    def transform(self, x):
        return (x - self.mean_) / self.scale_


def roc_auc(y_true, y_score):
    order = np.argsort(y_score, kind="mergesort")
    ranks = np.empty(len(y_score))
    ranks[order] = np.arange(1, len(y_score) + 1)
    pos = y_true > 0.5
    n_pos, n_neg = pos.sum(), (~pos).sum()
    return (ranks[pos].sum() - n_pos * (n_pos + 1) / 2) / (n_pos * n_neg)
