"""The readers of public corpora."""

from __future__ import annotations

from dial2vec.data.corpora.corpus import Corpus
from dial2vec_papers.corpora.amazon_qa import AmazonQa
from dial2vec_papers.corpora.bitod import Bitod
from dial2vec_papers.corpora.camrest676 import CamRest676
from dial2vec_papers.corpora.doc2dial import Doc2dial
from dial2vec_papers.corpora.dstc2 import Dstc2
from dial2vec_papers.corpora.dstc7 import Dstc7Advising, Dstc7Ubuntu
from dial2vec_papers.corpora.ecd import Ecd
from dial2vec_papers.corpora.frames import Frames
from dial2vec_papers.corpora.gsim import Gsim
from dial2vec_papers.corpora.jddc import Jddc
from dial2vec_papers.corpora.metalwoz import Metalwoz
from dial2vec_papers.corpora.msr_e2e import MsrE2e
from dial2vec_papers.corpora.multiwoz import Multiwoz
from dial2vec_papers.corpora.self_dialogue import SelfDialogue
from dial2vec_papers.corpora.sgd import Sgd
from dial2vec_papers.corpora.smd import Smd
from dial2vec_papers.corpora.taskmaster import Taskmaster1, Taskmaster2, Taskmaster3, Taskmaster4
from dial2vec_papers.corpora.ubuntu_v2 import UbuntuV2
from dial2vec_papers.corpora.woz import Woz

CORPORA: dict[str, type[Corpus]] = {
    "sgd": Sgd,
    "self_dialogue": SelfDialogue,
    "bitod": Bitod,
    "doc2dial": Doc2dial,
    "metalwoz": Metalwoz,
    "multiwoz": Multiwoz,
    "taskmaster1": Taskmaster1,
    "taskmaster2": Taskmaster2,
    "taskmaster3": Taskmaster3,
    "taskmaster4": Taskmaster4,
    "msr_e2e": MsrE2e,
    "smd": Smd,
    "frames": Frames,
    "woz": Woz,
    "camrest676": CamRest676,
    "dstc2": Dstc2,
    "gsim": Gsim,
    "ubuntu_v2": UbuntuV2,
    "dstc7_ubuntu": Dstc7Ubuntu,
    "dstc7_advising": Dstc7Advising,
    "amazon_qa": AmazonQa,
    "jddc": Jddc,
    "ecd": Ecd,
}
