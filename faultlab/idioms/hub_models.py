# ruff: noqa: E501
"""The Trainer of Hugging Face over tasks of texts, pictures, sounds and translations."""

from __future__ import annotations

from .composed import Kit

TRAINERS = """import os
import random
import evaluate
import numpy as np
import torch
from datasets import Audio, ClassLabel, DatasetDict, load_dataset
$IMPORTS

$SEED
$TASK

$ARGS
$CALLS
trainer = $TRAINER(
    model=model,
    args=training_args,
    train_dataset=train_set,
    eval_dataset=eval_set,
    data_collator=data_collator,
    $PROCESSING
    compute_metrics=compute_metrics,
    $EXTRA
)
$RUN
"""
SEED = (
    "transformers.set_seed(42)",
    "seed = 1234\nrandom.seed(seed)\nnp.random.seed(seed)\ntorch.manual_seed(seed)\ntorch.cuda.manual_seed_all(seed)",
    "",
)
TASK = (
    {
        "IMPORTS": "import transformers\nfrom transformers import AutoModelForTokenClassification, AutoTokenizer, DataCollatorForTokenClassification, EarlyStoppingCallback, Trainer, TrainingArguments",
        "TASK": """raw = load_dataset('conll2003')
label_names = raw['train'].features['ner_tags'].feature.names
id2label = dict(enumerate(label_names))
label2id = {v: k for k, v in id2label.items()}
checkpoint = 'bert-base-cased'
tokenizer = AutoTokenizer.from_pretrained(checkpoint)


def align_labels_with_tokens(labels, word_ids):
    new_labels, current_word = [], None
    for word_id in word_ids:
        if word_id != current_word:
            current_word = word_id
            new_labels.append($SPECIAL if word_id is None else labels[word_id])
        elif word_id is None:
            new_labels.append($SPECIAL)
        else:
            label = labels[word_id]
            if label % 2 == 1:
                label += 1
            new_labels.append(label)
    return new_labels


def tokenize_and_align_labels(examples):
    tokenized_inputs = tokenizer(examples['tokens'], truncation=True, is_split_into_words=True)
    tokenized_inputs['labels'] = [align_labels_with_tokens(labels, tokenized_inputs.word_ids(i)) for i, labels in enumerate(examples['ner_tags'])]
    return tokenized_inputs


tokenized = raw.map(tokenize_and_align_labels, batched=True, remove_columns=raw['train'].column_names)
train_set, eval_set, test_set = tokenized['train'], tokenized['validation'], tokenized['test']
data_collator = DataCollatorForTokenClassification(tokenizer=tokenizer)
model = AutoModelForTokenClassification.from_pretrained(checkpoint, id2label=id2label, label2id=label2id)
seqeval = evaluate.load('seqeval')


def compute_metrics(eval_preds):
    logits, labels = eval_preds
    predictions = np.argmax(logits, axis=-1)
    true_labels = [[label_names[l] for l in label if l != -100] for label in labels]
    true_predictions = [[label_names[p] for (p, l) in zip(prediction, label) if l != -100] for prediction, label in zip(predictions, labels)]
    all_metrics = seqeval.compute(predictions=true_predictions, references=true_labels)
    return {'f1': all_metrics['overall_f1'], 'accuracy': all_metrics['overall_accuracy']}""",
        "PROCESSING": "tokenizer=tokenizer,",
        "BEST": "f1",
        "COLUMNS": "",
        "SPECIAL": "-100",
    },
    {
        "IMPORTS": "import transformers\nfrom transformers import AutoModelForSequenceClassification, AutoTokenizer, DataCollatorWithPadding, EarlyStoppingCallback, Trainer, TrainingArguments",
        "TASK": """dataset = load_dataset('csv', data_files='reviews.csv', split='train')
dataset = dataset.filter(lambda x: x['text'] is not None and len(x['text']) > 0)
dataset = dataset.class_encode_column('label')
split = dataset.train_test_split(test_size=0.2, seed=42, stratify_by_column='label')
held = split['test'].train_test_split(test_size=0.5, seed=42)
ds = DatasetDict({'train': split['train'], 'validation': held['train'], 'test': held['test']})
labels = ds['train'].features['label'].names
tokenizer = AutoTokenizer.from_pretrained('distilbert-base-uncased')


def preprocess_function(examples):
    return tokenizer(examples['text'], truncation=True, max_length=256)


ds = ds.map(preprocess_function, batched=True, num_proc=4)
train_set, eval_set, test_set = ds['train'], ds['validation'], ds['test']
data_collator = DataCollatorWithPadding(tokenizer)
model = AutoModelForSequenceClassification.from_pretrained('distilbert-base-uncased', num_labels=len(labels), id2label=dict(enumerate(labels)), label2id={l: i for i, l in enumerate(labels)})
accuracy, f1 = evaluate.load('accuracy'), evaluate.load('f1')


def compute_metrics(eval_pred):
    predictions, references = eval_pred
    predictions = predictions.argmax(axis=1)
    return {**accuracy.compute(predictions=predictions, references=references), **f1.compute(predictions=predictions, references=references, average='macro')}""",
        "PROCESSING": "processing_class=tokenizer,",
        "BEST": "f1",
        "COLUMNS": "",
    },
    {
        "IMPORTS": "import transformers\nfrom torchvision.transforms import CenterCrop, Compose, Normalize, RandomHorizontalFlip, RandomResizedCrop, Resize, ToTensor\nfrom transformers import AutoImageProcessor, AutoModelForImageClassification, DefaultDataCollator, EarlyStoppingCallback, Trainer, TrainingArguments",
        "TASK": """food = load_dataset('food101', split='train[:10000]')
food = food.train_test_split(test_size=0.2, seed=0)
labels = food['train'].features['label'].names
label2id, id2label = {l: str(i) for i, l in enumerate(labels)}, {str(i): l for i, l in enumerate(labels)}
checkpoint = 'google/vit-base-patch16-224-in21k'
image_processor = AutoImageProcessor.from_pretrained(checkpoint)
normalize = Normalize(mean=image_processor.image_mean, std=image_processor.image_std)
size = (image_processor.size['height'], image_processor.size['width'])
train_tf = Compose([RandomResizedCrop(size), RandomHorizontalFlip(), ToTensor(), normalize])
val_tf = Compose([Resize(size), CenterCrop(size), ToTensor(), $EVALNORM])


def train_transforms(examples):
    examples['pixel_values'] = [train_tf(img.convert('RGB')) for img in examples['image']]
    del examples['image']
    return examples


def val_transforms(examples):
    examples['pixel_values'] = [val_tf(img.convert('RGB')) for img in examples['image']]
    del examples['image']
    return examples


parts = food['test'].train_test_split(test_size=0.5, seed=0)
train_set = food['train'].with_transform(train_transforms)
eval_set = parts['train'].with_transform(val_transforms)
test_set = parts['test'].with_transform(val_transforms)
data_collator = DefaultDataCollator()
model = AutoModelForImageClassification.from_pretrained(checkpoint, num_labels=len(labels), id2label=id2label, label2id=label2id)
accuracy = evaluate.load('accuracy')


def compute_metrics(eval_pred):
    predictions, labels = eval_pred
    return accuracy.compute(predictions=np.argmax(predictions, axis=1), references=labels)""",
        "PROCESSING": "tokenizer=image_processor,",
        "BEST": "accuracy",
        "COLUMNS": "remove_unused_columns=False,",
        "EVALNORM": "normalize",
    },
    {
        "IMPORTS": "import transformers\nfrom transformers import AutoFeatureExtractor, AutoModelForAudioClassification, EarlyStoppingCallback, Trainer, TrainingArguments\nfrom transformers import DefaultDataCollator",
        "TASK": """minds = load_dataset('PolyAI/minds14', name='en-US', split='train')
minds = minds.train_test_split(test_size=0.3, seed=3)
minds = minds.remove_columns(['path', 'transcription', 'english_transcription', 'lang_id'])
labels = minds['train'].features['intent_class'].names
label2id = {label: str(i) for i, label in enumerate(labels)}
id2label = {str(i): label for i, label in enumerate(labels)}
feature_extractor = AutoFeatureExtractor.from_pretrained('facebook/wav2vec2-base')
minds = minds.cast_column('audio', Audio(sampling_rate=$RATE))


def preprocess_function(examples):
    audio_arrays = [x['array'] for x in examples['audio']]
    return feature_extractor(audio_arrays, sampling_rate=feature_extractor.sampling_rate, max_length=16000, truncation=True, padding='max_length')


encoded = minds.map(preprocess_function, remove_columns='audio', batched=True).rename_column('intent_class', 'label')
held = encoded['test'].train_test_split(test_size=0.5, seed=3)
train_set, eval_set, test_set = encoded['train'], held['train'], held['test']
data_collator = DefaultDataCollator()
model = AutoModelForAudioClassification.from_pretrained('facebook/wav2vec2-base', num_labels=len(labels), label2id=label2id, id2label=id2label)
accuracy = evaluate.load('accuracy')


def compute_metrics(eval_pred):
    predictions = np.argmax(eval_pred.predictions, axis=1)
    return accuracy.compute(predictions=predictions, references=eval_pred.label_ids)""",
        "PROCESSING": "tokenizer=feature_extractor,",
        "BEST": "accuracy",
        "COLUMNS": "",
        "RATE": "16_000",
    },
    {
        "IMPORTS": "import transformers\nfrom transformers import AutoModelForSeq2SeqLM, AutoTokenizer, DataCollatorForSeq2Seq, EarlyStoppingCallback, Seq2SeqTrainer, Seq2SeqTrainingArguments",
        "TASK": """books = load_dataset('kde4', lang1='en', lang2='fr')['train'].train_test_split(train_size=0.9, seed=20)
checkpoint = 'Helsinki-NLP/opus-mt-en-fr'
tokenizer = AutoTokenizer.from_pretrained(checkpoint)
model = AutoModelForSeq2SeqLM.from_pretrained(checkpoint)


def preprocess_function(examples):
    inputs = [ex['en'] for ex in examples['translation']]
    targets = [ex['fr'] for ex in examples['translation']]
    return tokenizer(inputs, text_target=targets, max_length=128, truncation=True)


tokenized = books.map(preprocess_function, batched=True, remove_columns=books['train'].column_names)
held = tokenized['test'].train_test_split(test_size=0.5, seed=20)
train_set, eval_set, test_set = tokenized['train'], held['train'], held['test']
data_collator = DataCollatorForSeq2Seq(tokenizer, model=model)
metric = evaluate.load('sacrebleu')


def compute_metrics(eval_preds):
    preds, labels = eval_preds
    if isinstance(preds, tuple):
        preds = preds[0]
    preds = np.where(preds != -100, preds, tokenizer.pad_token_id)
    decoded_preds = tokenizer.batch_decode(preds, skip_special_tokens=True)
    labels = np.where(labels != -100, labels, tokenizer.pad_token_id)
    decoded_labels = tokenizer.batch_decode(labels, skip_special_tokens=True)
    decoded_preds = [pred.strip() for pred in decoded_preds]
    decoded_labels = [[label.strip()] for label in decoded_labels]
    return {'bleu': metric.compute(predictions=decoded_preds, references=decoded_labels)['score']}""",
        "PROCESSING": "tokenizer=tokenizer,",
        "BEST": "bleu",
        "COLUMNS": "predict_with_generate=True,",
        "TRAINER": "Seq2SeqTrainer",
        "SETTINGS": "Seq2SeqTrainingArguments",
    },
    {
        "IMPORTS": "import transformers\nfrom peft import LoraConfig, TaskType, get_peft_model\nfrom transformers import AutoModelForSequenceClassification, AutoTokenizer, DataCollatorWithPadding, EarlyStoppingCallback, Trainer, TrainingArguments",
        "TASK": """ds = load_dataset('glue', 'mrpc')
tokenizer = AutoTokenizer.from_pretrained('roberta-large', padding_side='right')


def tokenize_function(examples):
    return tokenizer(examples['sentence1'], examples['sentence2'], truncation=True, max_length=None)


ds = ds.map(tokenize_function, batched=True, remove_columns=['idx', 'sentence1', 'sentence2'])
ds = ds.rename_column('label', 'labels')
held = ds['validation'].train_test_split(test_size=0.5, seed=0)
train_set, eval_set, test_set = ds['train'], held['train'], held['test']
data_collator = DataCollatorWithPadding(tokenizer=tokenizer, padding='longest')
model = AutoModelForSequenceClassification.from_pretrained('roberta-large', return_dict=True)
peft_config = LoraConfig(task_type=TaskType.SEQ_CLS, inference_mode=$INFER, r=16, lora_alpha=16, lora_dropout=0.1, bias='all')
model = get_peft_model(model, peft_config)
model.print_trainable_parameters()
metric = evaluate.load('glue', 'mrpc')


def compute_metrics(p):
    predictions, labels = p
    return metric.compute(predictions=np.argmax(predictions, axis=-1), references=labels)""",
        "PROCESSING": "tokenizer=tokenizer,",
        "BEST": "f1",
        "COLUMNS": "",
        "INFER": "False",
        "PEAK": "1e-4",
    },
)
ARGS = (
    """training_args = $SETTINGS(
    output_dir='results',
    learning_rate=$PEAK,
    per_device_train_batch_size=16,
    per_device_eval_batch_size=32,
    num_train_epochs=5,
    weight_decay=0.01,
    eval_strategy='epoch',
    save_strategy='epoch',
    load_best_model_at_end=True,
    metric_for_best_model='$BEST',
    $COLUMNS
    $MORE
)""",
    """training_args = $SETTINGS('out', evaluation_strategy='steps', eval_steps=500, save_steps=500, logging_steps=50, save_total_limit=2,
    per_device_train_batch_size=8, gradient_accumulation_steps=4, warmup_ratio=0.1, lr_scheduler_type='cosine', learning_rate=$PEAK,
    num_train_epochs=3, fp16=True, load_best_model_at_end=True, metric_for_best_model='eval_$BEST', greater_is_better=True,
    $COLUMNS
    $MORE
)""",
    """training_args = $SETTINGS(
    output_dir='./model',
    overwrite_output_dir=True,
    do_train=True,
    do_eval=True,
    max_steps=4000,
    learning_rate=$PEAK,
    warmup_steps=200,
    per_device_train_batch_size=32,
    evaluation_strategy='steps',
    eval_steps=400,
    save_steps=400,
    logging_steps=25,
    bf16=True,
    gradient_checkpointing=True,
    load_best_model_at_end=True,
    metric_for_best_model='$BEST',
    report_to='none',
    $COLUMNS
    $MORE
)""",
)
MORE = ("", "seed=42,\ndataloader_num_workers=4,", "optim='adamw_torch',\nmax_grad_norm=1.0,")
CALLS = (
    "",
    {
        "CALLS": "early_stop = EarlyStoppingCallback(early_stopping_patience=3)",
        "EXTRA": "callbacks=[early_stop],",
    },
)
RUN = (
    "trainer.train()\nprint(trainer.evaluate(test_set))\ntrainer.save_model('final')",
    "result = trainer.train()\ntrainer.log_metrics('train', result.metrics)\ntrainer.save_state()\nmetrics = trainer.evaluate()\ntrainer.log_metrics('eval', metrics)\nout = trainer.predict(test_set)\ntrainer.log_metrics('test', out.metrics)",
    "checkpoint_dir = transformers.trainer_utils.get_last_checkpoint(training_args.output_dir) if os.path.isdir(training_args.output_dir) else None\ntrainer.train(resume_from_checkpoint=checkpoint_dir)\ntrainer.evaluate()",
)
DEFAULTS = ({"TRAINER": "Trainer", "SETTINGS": "TrainingArguments", "PEAK": "3e-5"},)
TASKS = Kit(
    "hub_trainers",
    TRAINERS,
    {
        "DEFAULTS": DEFAULTS,
        "SEED": SEED,
        "TASK": TASK,
        "ARGS": ARGS,
        "MORE": MORE,
        "CALLS": CALLS,
        "RUN": RUN,
    },
    apart=((("TASK", 5), ("ARGS", 2)),),
)
