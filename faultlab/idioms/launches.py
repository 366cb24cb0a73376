# ruff: noqa: E501
"""Training over several processes, and fine-tuning of language models, as their guides start it."""

from __future__ import annotations

from . import Book, Choice

PROGRAMS = (
    """import os
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler
from torchvision import datasets, models, transforms


def setup():
    dist.init_process_group(backend='nccl')
    torch.cuda.set_device(int(os.environ['LOCAL_RANK']))


def main():
    setup()
    rank, world_size, local_rank = dist.get_rank(), dist.get_world_size(), int(os.environ['LOCAL_RANK'])
    torch.manual_seed(0)
    norm = transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
    train_tf = transforms.Compose([transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip(), transforms.ToTensor(), norm])
    val_tf = transforms.Compose([transforms.Resize(256), transforms.CenterCrop(224), transforms.ToTensor(), norm])
    train_set = datasets.ImageFolder('imagenet/train', train_tf)
    val_set = datasets.ImageFolder('imagenet/val', val_tf)
    train_sampler = DistributedSampler(train_set, num_replicas=world_size, rank=rank, shuffle=True)
    val_sampler = DistributedSampler(val_set, num_replicas=world_size, rank=rank, shuffle=False)
    train_loader = DataLoader(train_set, batch_size=64, sampler=train_sampler, num_workers=8, pin_memory=True)
    val_loader = DataLoader(val_set, batch_size=64, sampler=val_sampler, num_workers=8)
    model = models.resnet50(num_classes=1000).cuda(local_rank)
    model = nn.SyncBatchNorm.convert_sync_batchnorm(model)
    model = DDP(model, device_ids=[local_rank])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1 * world_size * 64 / 256, momentum=0.9, weight_decay=1e-4)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[30, 60, 80], gamma=0.1)
    for epoch in range(90):
        train_sampler.set_epoch(epoch)
        model.train()
        for images, target in train_loader:
            images, target = images.cuda(local_rank, non_blocking=True), target.cuda(local_rank, non_blocking=True)
            loss = F.cross_entropy(model(images), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        scheduler.step()
        model.eval()
        counts = torch.zeros(2, device=local_rank)
        with torch.no_grad():
            for images, target in val_loader:
                output = model(images.cuda(local_rank))
                counts[0] += (output.argmax(1) == target.cuda(local_rank)).sum()
                counts[1] += target.numel()
        dist.all_reduce(counts)
        if rank == 0:
            print(f'epoch {epoch} acc {(counts[0] / counts[1]).item():.4f}')
            torch.save(model.module.state_dict(), 'resnet.pt')
    dist.destroy_process_group()


if __name__ == '__main__':
    main()
""",
    """import argparse
import deepspeed
import torch
import torch.nn.functional as F
from torchvision import datasets, transforms

parser = argparse.ArgumentParser()
parser.add_argument('--epochs', type=int, default=30)
parser.add_argument('--local_rank', type=int, default=-1)
parser = deepspeed.add_config_arguments(parser)
args = parser.parse_args()
transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))])
trainset = datasets.CIFAR10('./data', train=True, download=True, transform=transform)
testset = datasets.CIFAR10('./data', train=False, download=True, transform=transform)
testloader = torch.utils.data.DataLoader(testset, batch_size=64, shuffle=False)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = torch.nn.Conv2d(3, 6, 5), torch.nn.Conv2d(6, 16, 5)
        self.pool = torch.nn.MaxPool2d(2, 2)
        self.fc1, self.fc2 = torch.nn.Linear(16 * 5 * 5, 120), torch.nn.Linear(120, 10)

    def forward(self, x):
        x = self.pool(F.relu(self.conv1(x)))
        x = self.pool(F.relu(self.conv2(x)))
        x = x.view(-1, 16 * 5 * 5)
        return self.fc2(F.relu(self.fc1(x)))


ds_config = {
    'train_batch_size': 64,
    'optimizer': {'type': 'Adam', 'params': {'lr': 0.001, 'betas': [0.8, 0.999], 'eps': 1e-8, 'weight_decay': 3e-7}},
    'scheduler': {'type': 'WarmupLR', 'params': {'warmup_min_lr': 0, 'warmup_max_lr': 0.001, 'warmup_num_steps': 1000}},
    'gradient_clipping': 1.0,
    'bf16': {'enabled': True},
    'zero_optimization': {'stage': 1},
}
net = Net()
parameters = filter(lambda p: p.requires_grad, net.parameters())
model_engine, optimizer, trainloader, _ = deepspeed.initialize(args=args, model=net, model_parameters=parameters, training_data=trainset, config=ds_config)
criterion = torch.nn.CrossEntropyLoss()
for epoch in range(args.epochs):
    running_loss = 0.0
    for i, data in enumerate(trainloader):
        inputs, labels = data[0].to(model_engine.local_rank).to(torch.bfloat16), data[1].to(model_engine.local_rank)
        outputs = model_engine(inputs)
        loss = criterion(outputs, labels)
        model_engine.backward(loss)
        model_engine.step()
        running_loss += loss.item()
        if i % 2000 == 1999:
            print('[%d, %5d] loss: %.3f' % (epoch + 1, i + 1, running_loss / 2000))
            running_loss = 0.0
net.eval()
correct = total = 0
with torch.no_grad():
    for images, labels in testloader:
        outputs = net(images.to(model_engine.local_rank).to(torch.bfloat16))
        _, predicted = torch.max(outputs.data, 1)
        total += labels.size(0)
        correct += (predicted == labels.to(model_engine.local_rank)).sum().item()
print('Accuracy: %d %%' % (100 * correct / total))
""",
    """import math
from itertools import chain
import torch
from datasets import load_dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, DataCollatorForLanguageModeling, Trainer, TrainingArguments, set_seed

set_seed(42)
model_name, block_size = 'gpt2', 512
raw = load_dataset('wikitext', 'wikitext-2-raw-v1')
tokenizer = AutoTokenizer.from_pretrained(model_name)
tokenizer.pad_token = tokenizer.eos_token
model = AutoModelForCausalLM.from_pretrained(model_name)


def tokenize_function(examples):
    return tokenizer(examples['text'])


def group_texts(examples):
    concatenated = {k: list(chain(*examples[k])) for k in examples.keys()}
    total_length = len(concatenated[list(examples.keys())[0]])
    total_length = (total_length // block_size) * block_size
    result = {k: [t[i:i + block_size] for i in range(0, total_length, block_size)] for k, t in concatenated.items()}
    result['labels'] = result['input_ids'].copy()
    return result


tokenized = raw.map(tokenize_function, batched=True, remove_columns=['text'])
lm = tokenized.map(group_texts, batched=True)
args = TrainingArguments('gpt2-wiki', eval_strategy='epoch', learning_rate=2e-5, weight_decay=0.01, num_train_epochs=3, per_device_train_batch_size=8, warmup_ratio=0.03, lr_scheduler_type='cosine', bf16=True)
trainer = Trainer(model=model, args=args, train_dataset=lm['train'], eval_dataset=lm['validation'], data_collator=DataCollatorForLanguageModeling(tokenizer, mlm=False))
trainer.train()
print(f"Perplexity: {math.exp(trainer.evaluate()['eval_loss']):.2f}")
""",
    """import torch
from datasets import load_dataset
from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training
from transformers import AutoModelForCausalLM, AutoTokenizer, BitsAndBytesConfig
from trl import SFTConfig, SFTTrainer

model_id = 'meta-llama/Llama-3.2-1B'
bnb = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type='nf4', bnb_4bit_compute_dtype=torch.bfloat16, bnb_4bit_use_double_quant=True)
model = AutoModelForCausalLM.from_pretrained(model_id, quantization_config=bnb, device_map='auto')
model.config.use_cache = False
model = prepare_model_for_kbit_training(model)
tokenizer = AutoTokenizer.from_pretrained(model_id)
tokenizer.pad_token = tokenizer.eos_token
tokenizer.padding_side = 'right'
dataset = load_dataset('timdettmers/openassistant-guanaco', split='train').train_test_split(test_size=0.05, seed=1)
peft_config = LoraConfig(r=16, lora_alpha=32, lora_dropout=0.05, bias='none', task_type='CAUSAL_LM', target_modules=['q_proj', 'k_proj', 'v_proj', 'o_proj'])
config = SFTConfig(output_dir='sft', num_train_epochs=1, per_device_train_batch_size=4, gradient_accumulation_steps=4, learning_rate=2e-4, warmup_ratio=0.03, lr_scheduler_type='cosine', bf16=True, logging_steps=10, max_grad_norm=0.3, dataset_text_field='text', eval_strategy='steps', eval_steps=200)
trainer = SFTTrainer(model=model, args=config, train_dataset=dataset['train'], eval_dataset=dataset['test'], peft_config=peft_config, processing_class=tokenizer)
trainer.train()
trainer.save_model('sft/final')
""",
    """import math
import torch
import torch.nn.functional as F
from accelerate import Accelerator
from datasets import load_dataset
from diffusers import DDPMPipeline, DDPMScheduler, UNet2DModel
from diffusers.optimization import get_cosine_schedule_with_warmup
from torchvision import transforms

dataset = load_dataset('huggan/smithsonian_butterflies_subset', split='train')
preprocess = transforms.Compose([transforms.Resize((128, 128)), transforms.RandomHorizontalFlip(), transforms.ToTensor(), transforms.Normalize([0.5], [0.5])])


def transform(examples):
    return {'images': [preprocess(image.convert('RGB')) for image in examples['image']]}


dataset.set_transform(transform)
train_dataloader = torch.utils.data.DataLoader(dataset, batch_size=16, shuffle=True)
model = UNet2DModel(sample_size=128, in_channels=3, out_channels=3, layers_per_block=2, block_out_channels=(128, 128, 256, 256))
noise_scheduler = DDPMScheduler(num_train_timesteps=1000)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
num_epochs = 50
lr_scheduler = get_cosine_schedule_with_warmup(optimizer=optimizer, num_warmup_steps=500, num_training_steps=len(train_dataloader) * num_epochs)
accelerator = Accelerator(mixed_precision='fp16', gradient_accumulation_steps=1)
model, optimizer, train_dataloader, lr_scheduler = accelerator.prepare(model, optimizer, train_dataloader, lr_scheduler)
global_step = 0
for epoch in range(num_epochs):
    for step, batch in enumerate(train_dataloader):
        clean_images = batch['images']
        noise = torch.randn(clean_images.shape, device=clean_images.device)
        bs = clean_images.shape[0]
        timesteps = torch.randint(0, noise_scheduler.config.num_train_timesteps, (bs,), device=clean_images.device, dtype=torch.int64)
        noisy_images = noise_scheduler.add_noise(clean_images, noise, timesteps)
        with accelerator.accumulate(model):
            noise_pred = model(noisy_images, timesteps, return_dict=False)[0]
            loss = F.mse_loss(noise_pred, noise)
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            lr_scheduler.step()
            optimizer.zero_grad()
        global_step += 1
        accelerator.log({'loss': loss.detach().item(), 'lr': lr_scheduler.get_last_lr()[0]}, step=global_step)
    if accelerator.is_main_process and (epoch + 1) % 10 == 0:
        pipeline = DDPMPipeline(unet=accelerator.unwrap_model(model), scheduler=noise_scheduler)
        pipeline.save_pretrained('ddpm-butterflies')
""",
    """import numpy as np
import evaluate
from datasets import load_dataset
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer, DataCollatorForSeq2Seq, Seq2SeqTrainer, Seq2SeqTrainingArguments

books = load_dataset('opus_books', 'en-fr')['train'].train_test_split(test_size=0.2, seed=0)
checkpoint = 'google-t5/t5-small'
tokenizer = AutoTokenizer.from_pretrained(checkpoint)
prefix = 'translate English to French: '


def preprocess_function(examples):
    inputs = [prefix + example['en'] for example in examples['translation']]
    targets = [example['fr'] for example in examples['translation']]
    return tokenizer(inputs, text_target=targets, max_length=128, truncation=True)


tokenized_books = books.map(preprocess_function, batched=True)
model = AutoModelForSeq2SeqLM.from_pretrained(checkpoint)
data_collator = DataCollatorForSeq2Seq(tokenizer=tokenizer, model=model)
metric = evaluate.load('sacrebleu')


def compute_metrics(eval_preds):
    preds, labels = eval_preds
    if isinstance(preds, tuple):
        preds = preds[0]
    decoded_preds = tokenizer.batch_decode(preds, skip_special_tokens=True)
    labels = np.where(labels != -100, labels, tokenizer.pad_token_id)
    decoded_labels = tokenizer.batch_decode(labels, skip_special_tokens=True)
    decoded_preds = [pred.strip() for pred in decoded_preds]
    decoded_labels = [[label.strip()] for label in decoded_labels]
    result = metric.compute(predictions=decoded_preds, references=decoded_labels)
    prediction_lens = [np.count_nonzero(pred != tokenizer.pad_token_id) for pred in preds]
    return {'bleu': round(result['score'], 4), 'gen_len': np.mean(prediction_lens)}


training_args = Seq2SeqTrainingArguments(output_dir='t5-en-fr', eval_strategy='epoch', learning_rate=2e-5, per_device_train_batch_size=16, per_device_eval_batch_size=16, weight_decay=0.01, save_total_limit=3, num_train_epochs=2, predict_with_generate=True)
trainer = Seq2SeqTrainer(model=model, args=training_args, train_dataset=tokenized_books['train'], eval_dataset=tokenized_books['test'], processing_class=tokenizer, data_collator=data_collator, compute_metrics=compute_metrics)
trainer.train()
""",
    """import torch
import torch_npu
from torch_npu.contrib import transfer_to_npu
import torch.nn as nn
from torch.npu.amp import GradScaler, autocast
from torch.utils.data import DataLoader
from torchvision import datasets, transforms

device = torch.device('npu:0')
torch.npu.set_device(device)
torch.manual_seed(1)
tf = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.1307,), (0.3081,))])
train_loader = DataLoader(datasets.MNIST('data', train=True, download=True, transform=tf), batch_size=64, shuffle=True, drop_last=True)
test_loader = DataLoader(datasets.MNIST('data', train=False, transform=tf), batch_size=1000)
model = nn.Sequential(nn.Conv2d(1, 32, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(1600, 10)).to(device)
loss_func = nn.CrossEntropyLoss().to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = GradScaler()
for epoch in range(5):
    model.train()
    for imgs, labels in train_loader:
        imgs, labels = imgs.to(device), labels.to(device)
        with autocast():
            outputs = model(imgs)
            loss = loss_func(outputs, labels)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    model.eval()
    correct = 0
    with torch.no_grad():
        for imgs, labels in test_loader:
            correct += (model(imgs.to(device)).argmax(1) == labels.to(device)).sum().item()
    print(f'epoch {epoch}: loss {loss.item():.4f} accuracy {correct / len(test_loader.dataset):.4f}')
""",
    """import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn, ops
from mindspore.communication import get_group_size, get_rank, init

ms.set_context(mode=ms.GRAPH_MODE)
init()
ms.reset_auto_parallel_context()
ms.set_auto_parallel_context(parallel_mode=ms.ParallelMode.DATA_PARALLEL, gradients_mean=True)
ms.set_seed(1)


class Network(nn.Cell):
    def __init__(self):
        super().__init__()
        self.flatten = nn.Flatten()
        self.layer1, self.relu, self.layer2 = nn.Dense(28 * 28, 512), nn.ReLU(), nn.Dense(512, 10)

    def construct(self, x):
        return self.layer2(self.relu(self.layer1(self.flatten(x))))


def create_dataset(batch_size):
    rank_id, rank_size = get_rank(), get_group_size()
    dataset = ds.MnistDataset('MNIST_Data/train', num_shards=rank_size, shard_id=rank_id, shuffle=True)
    dataset = dataset.map([ds.vision.Rescale(1.0 / 255.0, 0), ds.vision.Normalize(mean=(0.1307,), std=(0.3081,)), ds.vision.HWC2CHW()], 'image')
    dataset = dataset.map(ds.transforms.TypeCast(ms.int32), 'label')
    return dataset.batch(batch_size, drop_remainder=True)


net = Network()
data_set = create_dataset(32)
loss_fn = nn.CrossEntropyLoss()
optimizer = nn.SGD(net.trainable_params(), 1e-2)


def forward_fn(data, target):
    logits = net(data)
    loss = loss_fn(logits, target)
    return loss, logits


grad_fn = ms.value_and_grad(forward_fn, None, net.trainable_params(), has_aux=True)
grad_reducer = nn.DistributedGradReducer(optimizer.parameters)
for epoch in range(10):
    i = 0
    for image, label in data_set:
        (loss_value, _), grads = grad_fn(image, label)
        grads = grad_reducer(grads)
        optimizer(grads)
        if i % 10 == 0:
            print('epoch: %s, step: %s, loss is %s' % (epoch, i, loss_value))
        i += 1
""",
)


def write(choice: Choice) -> str | None:
    """The program of one choice."""
    return PROGRAMS[choice[0]]


BOOK = Book("launches", (len(PROGRAMS),), write)
