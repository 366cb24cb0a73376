"""Words for losses, metrics and steps in other languages, as the English ones.

German, French, Spanish, Portuguese, Italian, Russian, Japanese and Korean, as scripts print them
(`Trainingsverlust`, `perte (validation)`, `потери на валидации`, `検証損失`); Chinese has its own module
in the reader of text logs.
"""

from __future__ import annotations

import re
from functools import lru_cache

FAR = 256 * 1024  # how far to look for these words
# What is measured, by its English name.
_QUANTITIES: dict[str, str] = {
    "loss": "verlust verlustwert|perte pertes coût|pérdida pérdidas perdida costo"
    "|perda perdas custo|perdita costo"
    "|потери потеря лосс|損失 ロス|손실 손실값 로스",
    "accuracy": "genauigkeit treffergenauigkeit|précision exactitude justesse|exactitud precisión"
    "|acurácia exatidão precisão"
    "|accuratezza precisione|точность|正解率 精度|정확도",
    "error_rate": "fehlerrate fehlerquote|taux_d'erreur|tasa_de_error"
    "|taxa_de_erro|tasso_di_errore"
    "|доля_ошибок частота_ошибок|誤り率 エラー率|오류율 에러율",
    "perplexity": "perplexität|perplexité|perplejidad|perplexidade|perplessità|перплексия"
    "|パープレキシティ|혼란도",
    "reward": "belohnung|récompense|recompensa|recompensa|ricompensa|награда вознаграждение|報酬|보상",
}
# What has no data set.
_ALONE: dict[str, str] = {
    "learning_rate": "lernrate|taux_d'apprentissage|tasa_de_aprendizaje"
    "|taxa_de_aprendizado taxa_de_aprendizagem"
    "|tasso_di_apprendimento|скорость_обучения темп_обучения|学習率|학습률",
    "grad_norm": "gradientennorm|norme_du_gradient|norma_del_gradiente|norma_do_gradiente|norma_del_gradiente"
    "|норма_градиента|勾配ノルム|기울기_노름 그래디언트_노름",
    "epoch": "epoche|époque|época|época|epoca|эпоха эпохи|エポック|에포크 에폭",
    "step": "schritt|étape pas|paso|passo|passo|шаг|ステップ|스텝",
    "iteration": "iteration|itération|iteración|iteração|iterazione|итерация|イテレーション 反復|반복",
    "episode": "episode|épisode|episodio|episódio|episodio|эпизод|エピソード|에피소드",
}
_SETS: dict[str, str] = {
    "train": "trainings training|entraînement entrainement apprentissage|entrenamiento|treino treinamento"
    "|addestramento|обучении обучения обучение обучающая тренировочная|訓練 学習 トレーニング|훈련 학습",
    "val": "validierungs validierung|validation|validación|validação|validazione"
    "|валидации валидация валидационная|検証 バリデーション|검증",
    "test": "test|test|prueba|teste|test|тесте тест тестовая тестовые|テスト|테스트",
}
# Between what is measured and the data set that it is of.
_OF = (
    r"[ _\-/]*(?:(?:sur|de|du|di|su|del|da|do|en|in|on|im|auf|bei|на|при|の)(?:[ _]l[ae])?[ _]+"
    r"|d[’']|de l[’']|\(\s*)?"
)
_ASCII_TOO = {
    "training",
    "test",
    "validation",
    "iteration",
    "episode",
    "pas",
}  # English words, or parts of them


def _listed(table: dict[str, str]) -> dict[str, str]:
    """Each foreign word -> the English one."""
    return {
        word.replace("_", " "): english
        for english, listed in table.items()
        for word in re.split(r"[|\s]+", listed)
    }


def _any(words: dict[str, str]) -> str:
    found = sorted(words, key=len, reverse=True)
    return "|".join(re.escape(w).replace(r"\ ", "[ _]").replace("'", "[’']") for w in found)


_Q, _A, _S = _listed(_QUANTITIES), _listed(_ALONE), _listed(_SETS)
_START, _END = r"(?<![^\W\d_])", r"(?![^\W\d_])"
_WIDE = str.maketrans(
    {"：": ":", "，": ",", "＝": "=", "（": "(", "）": ")", "％": "%", "、": ",", "。": ". "}
)
# One of these stands in whatever is in one of these languages: quick to look for. First those in ASCII.
_CORE_ASCII = (
    *("verlust", "genauigkeit", "lernrate", "gradientennorm", "fehlerrate", "belohnung", "perte", "perda"),
    *("perdita", "perdida", "exactitud", "accuratezza", "recompensa", "ricompensa", "epoche"),
    *("taux d", "tasa de", "taxa de", "tasso di", "norma de", "norma do", "norme du"),
)
_CORE = (
    *("pérdida", "précision", "époque", "Époque", "acurácia", "validação", "Validação", "perplexité"),
    *("récompense", "taux d’", "потер", "Потер", "лосс", "Лосс", "точность", "Точность", "обучени", "эпоха"),
    *(
        "Эпоха",
        "награда",
        "損失",
        "ロス",
        "正解率",
        "学習率",
        "エポック",
        "報酬",
        "손실",
        "정확도",
        "학습률",
        "에포크",
    ),
    *("보상", "época", "Época", "precisión", "Pérdida", "Précision", "Acurácia"),
)
_CORE_BYTES = tuple(word.encode() for word in _CORE)
_CORE_ASCII_BYTES = tuple(word.encode() for word in _CORE_ASCII)


@lru_cache(maxsize=1)
def _both() -> re.Pattern[str]:
    """What is measured together with its data set, in either order."""
    first = rf"(?P<s>{_any(_S)})[ _\-]*(?P<q>{_any(_Q)})"
    second = rf"(?P<q2>{_any(_Q)}){_OF}(?P<s2>{_any(_S)})\s*\)?"
    return re.compile(rf"{_START}(?:{first}|{second}){_END}", re.IGNORECASE)


@lru_cache(maxsize=1)
def _one() -> re.Pattern[str]:
    """One word."""
    return re.compile(rf"{_START}(?:{_any({**_Q, **_A, **_S})}){_END}", re.IGNORECASE)


@lru_cache(maxsize=1)
def _telling() -> re.Pattern[str]:
    """A loss, a metric or a rate in one of these languages, with its number behind it."""
    told = {word: english for word, english in {**_Q, **_A}.items() if word not in _ASCII_TOO}
    compound = rf"(?:(?:{_any(_S)})[ _\-]*)?"
    return re.compile(
        rf"{_START}{compound}(?:{_any(told)}){_END}[^\n]{{0,40}}?[-+]?(?:\d|nan|inf)", re.IGNORECASE
    )


# 0,532: a decimal comma, not the milliseconds of a clock (12:00:00,123) and not a list.
_COMMA = re.compile(rb"(?<=[ =:|;\t])(?<!\d:)([-+]?\d+),(\d+)(?=[\s%|;)\]]|,\s|e[-+]?\d|$)", re.MULTILINE)
_SURE = re.compile(rb"[ =:|;\t][-+]?0,\d+(?=[\s%|;)\]]|,\s|e[-+]?\d)")
_POINT = re.compile(rb"[ =:|;\t][-+]?\d+\.\d+(?=[\s%|;,)\]])")


def speaks(data: bytes) -> bool:
    """Whether a log (UTF-8) names a quantity of training in one of these languages, more than once."""
    start = data[:FAR]
    low = start.lower()
    if not any(word in low for word in _CORE_ASCII_BYTES) and (
        start.isascii() or not any(word in start for word in _CORE_BYTES)
    ):
        return False
    found = _telling().finditer(start.decode("utf-8", "replace"))
    return next(found, None) is not None and next(found, None) is not None


def in_english(data: bytes) -> bytes:
    """Return the log with these words in English; lines stay lines."""
    return english(data.decode("utf-8", "replace").translate(_WIDE), spaced=True).encode("utf-8", "replace")


def english(text: str, *, spaced: bool = False) -> str:
    """Return a text with the words of these languages in English: "Validierungsverlust" -> "val_loss".

    `spaced`: put blanks around them, where the language itself writes none.
    """
    text = _both().sub(lambda m: _pair(m, spaced), text)
    return _one().sub(lambda m: _word(m, spaced), text)


@lru_cache(maxsize=4096)
def name(raw: str) -> str:
    """Return the name of a column or a key in English; names in plain English come back as they are."""
    low = raw.lower().replace("_", " ")
    if raw.isascii() and not any(word in low for word in _CORE_ASCII):
        return raw
    return english(raw) if _telling().search(raw + " 0") else raw


def _pair(match: re.Match[str], spaced: bool) -> str:
    which = _of(_S, match["s"] or match["s2"])
    pair = f"{which}_{_of(_Q, match['q'] or match['q2'])}"
    return f" {pair} " if spaced and not match.group().isascii() else pair


def _word(match: re.Match[str], spaced: bool) -> str:
    word = _of({**_Q, **_A, **_S}, match.group())
    return f" {word} " if spaced and not match.group().isascii() else word


def _of(words: dict[str, str], found: str) -> str:
    return words[found.lower().replace("_", " ").replace("’", "'")]


def with_commas(start: bytes) -> bool:
    """Whether a log that begins so writes decimal commas."""
    commas = len(_SURE.findall(start))
    return commas >= 5 and len(_POINT.findall(start)) <= commas


def with_points(data: bytes) -> bytes:
    """The log's decimal commas as points."""
    return _COMMA.sub(rb"\1.\2", data)
