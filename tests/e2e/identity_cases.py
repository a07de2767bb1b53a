"""Names, acronyms and keys as authors type them, with the papers that they mean."""

from __future__ import annotations

import random
import re

from citewell.corpus.library import Library
from citewell.model.titles import normalise_title

_TAIL = re.compile(r" for ((?:[^\W\d_][\w'’-]*\s){2,4}[^\W\d_][\w'’-]*)$")

NAMES = {
    "resnet": "Deep Residual Learning for Image Recognition",
    "lstm": "Long Short-Term Memory",
    "gpt-3": "Language Models are Few-Shot Learners",
    "transformer": "Attention is All you Need",
    "transformer architecture": "Attention is All you Need",
    "BERT": "BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding",
    "bert model": "BERT: Pre-training of Deep Bidirectional Transformers for Language "
    "Understanding",
    "bpe": "Neural Machine Translation of Rare Words with Subword Units",
    "word2vec": "Efficient Estimation of Word Representations in Vector Space",
    "glove embeddings": "GloVe: Global Vectors for Word Representation",
    "ELMo": "Deep Contextualized Word Representations",
    "GANs": "Generative Adversarial Nets",
    "VAE": "Auto-Encoding Variational Bayes",
    "dropout": "Dropout: A Simple Way to Prevent Neural Networks from Overfitting",
    "adam optimizer": "Adam: A Method for Stochastic Optimization",
    "the Adam optimiser": "Adam: A Method for Stochastic Optimization",
    "adamw": "Decoupled Weight Decay Regularization",
    "coco dataset": "Microsoft COCO: Common Objects in Context",
    "moses smt": "Moses: Open Source Toolkit for Statistical Machine Translation",
    "lda": "Latent Dirichlet Allocation",
    "layer norm": "Layer normalization",
    "batch norm": "Batch Normalization: Accelerating Deep Network Training by Reducing Internal "
    "Covariate Shift",
    "batch normalisation": "Batch Normalization: Accelerating Deep Network Training by Reducing "
    "Internal Covariate Shift",
    "seq2seq model": "Sequence to Sequence Learning with Neural Networks",
    "ViT": "An Image is Worth 16x16 Words: Transformers for Image Recognition at Scale",
    "CLIP": "Learning Transferable Visual Models From Natural Language Supervision",
    "LoRA": "LoRA: Low-Rank Adaptation of Large Language Models",
    "BLEU score": "Bleu: a Method for Automatic Evaluation of Machine Translation",
    "rouge": "ROUGE: A Package for Automatic Evaluation of Summaries",
    "METEOR": "METEOR: An Automatic Metric for MT Evaluation with Improved Correlation with "
    "Human Judgments",
    "BERTScore": "BERTScore: Evaluating Text Generation with BERT",
    "AlexNet": "ImageNet Classification with Deep Convolutional Neural Networks",
    "vgg": "Very Deep Convolutional Networks for Large-Scale Image Recognition",
    "DenseNet": "Densely Connected Convolutional Networks",
    "faster r-cnn": "Faster R-CNN: Towards Real-Time Object Detection with Region Proposal "
    "Networks",
    "GAT": "Graph Attention Networks",
    "GCN": "Semi-Supervised Classification with Graph Convolutional Networks",
    "node2vec": "node2vec: Scalable Feature Learning for Networks",
    "DPO": "Direct Preference Optimization: Your Language Model is Secretly a Reward Model",
    "RoBERTa": "RoBERTa: A Robustly Optimized BERT Pretraining Approach",
    "t5": "Exploring the Limits of Transfer Learning with a Unified Text-to-Text Transformer",
    "imagenet dataset": "ImageNet: A large-scale hierarchical image database",
    "squad dataset": "SQuAD: 100,000+ Questions for Machine Comprehension of Text",
    "GLUE benchmark": "GLUE: A Multi-Task Benchmark and Analysis Platform for Natural Language "
    "Understanding",
    "SNLI corpus": "A large annotated corpus for learning natural language inference",
    "penn treebank": "Building a Large Annotated Corpus of English: The Penn Treebank",
    "t-SNE": "Visualizing Data using t-SNE",
    "pytorch": "PyTorch: An Imperative Style, High-Performance Deep Learning Library",
    "scikit-learn": "Scikit-learn: Machine Learning in Python",
    "random forests": "Random Forests",
}
"""Usual names, as they are typed, by the titles of what they mean."""
UNDECIDED = (
    "FFN", "KBs", "CPs", "AMT", "CoVe", "UCB", "VITS", "FiD", "SDP", "LAS", "CNN", "RNN", "NER",
    "ACL", "EMNLP", "ICML", "ICLR", "SIGIR", "NEW", "METHODS", "COMPUTER", "MACHINE", "LANGUAGE",
)  # fmt: skip
"""Acronyms with several expansions, and words in capitals that are venues or mere filters."""
KEYS = {
    "he2016deep": "Deep Residual Learning for Image Recognition",
    "bahdanau2014neural": "Neural Machine Translation by Jointly Learning to Align and Translate",
    "velivckovic2018graph": "Graph Attention Networks",
    "velickovic2018": "Graph Attention Networks",
    "raffel2020": "Exploring the Limits of Transfer Learning with a Unified Text-to-Text "
    "Transformer",
    "vaswani2017": "Attention is All you Need",
    "vaswani2017attention": "Attention is All you Need",
    "Vaswani:2017": "Attention is All you Need",
    "vaswani-etal-2017-attention": "Attention is All you Need",
    "attention": "Attention is All you Need",
    "mikolov2013": "Efficient Estimation of Word Representations in Vector Space",
    "mikolov2013efficient": "Efficient Estimation of Word Representations in Vector Space",
    "mikolov2013distributed": "Distributed Representations of Words and Phrases and their "
    "Compositionality",
    "bert": "BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding",
    "BERT": "BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding",
    "devlin2018bert": "BERT: Pre-training of Deep Bidirectional Transformers for Language "
    "Understanding",
    "devlin-etal-2019-bert": "BERT: Pre-training of Deep Bidirectional Transformers for Language "
    "Understanding",
    "lstm": "Long Short-Term Memory",
    "hochreiter1997long": "Long Short-Term Memory",
    "hochreiter97": "Long Short-Term Memory",
    "1706.03762": "Attention is All you Need",
    "arXiv:1810.04805": "BERT: Pre-training of Deep Bidirectional Transformers for Language "
    "Understanding",
    "kingma2014adam": "Adam: A Method for Stochastic Optimization",
    "adam": "Adam: A Method for Stochastic Optimization",
    "kingma2013auto": "Auto-Encoding Variational Bayes",
    "resnet": "Deep Residual Learning for Image Recognition",
    "He_2016_CVPR": "Deep Residual Learning for Image Recognition",
    "goodfellow2014generative": "Generative Adversarial Nets",
    "gan": "Generative Adversarial Nets",
    "pennington2014glove": "GloVe: Global Vectors for Word Representation",
    "glove": "GloVe: Global Vectors for Word Representation",
    "papineni2002bleu": "Bleu: a Method for Automatic Evaluation of Machine Translation",
    "papineni": "Bleu: a Method for Automatic Evaluation of Machine Translation",
    "sennrich2016": "Neural Machine Translation of Rare Words with Subword Units",
    "sutskever2014sequence": "Sequence to Sequence Learning with Neural Networks",
    "cho2014learning": "Learning Phrase Representations using RNN Encoder-Decoder for "
    "Statistical Machine Translation",
    "brown2020language": "Language Models are Few-Shot Learners",
    "gpt3": "Language Models are Few-Shot Learners",
    "liu2019roberta": "RoBERTa: A Robustly Optimized BERT Pretraining Approach",
    "krizhevsky2012imagenet": "ImageNet Classification with Deep Convolutional Neural Networks",
    "srivastava2014dropout": "Dropout: A Simple Way to Prevent Neural Networks from Overfitting",
    "ioffe2015batch": "Batch Normalization: Accelerating Deep Network Training by Reducing "
    "Internal Covariate Shift",
    "blei2003latent": "Latent Dirichlet Allocation",
    "kipf2016semi": "Semi-Supervised Classification with Graph Convolutional Networks",
    "dosovitskiy2020image": "An Image is Worth 16x16 Words: Transformers for Image Recognition "
    "at Scale",
}
"""Keys as authors make them, by the titles of what they mean."""


def same_title(one: str, other: str) -> bool:
    """Whether two titles are one, however they are written."""
    return normalise_title(one).replace(" ", "") == normalise_title(other).replace(" ", "")


def topics(library: Library, seed: int, count: int) -> list[str]:
    """Phrases of three to five words behind the last "for" of titles, themselves no title, in an
    order that the seed gives."""
    rows = list(range(library.rows))
    random.Random(seed).shuffle(rows)
    found: dict[str, None] = {}
    for start in range(0, len(rows), 1_000):
        for work in library.works(rows[start : start + 1_000]):
            match = _TAIL.search(work.title)
            if match and not library.by_title_rows(match[1]):
                found[match[1]] = None
        if len(found) >= count:
            break
    return list(found)[:count]
