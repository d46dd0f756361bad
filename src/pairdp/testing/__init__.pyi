from .loss_checker import Check as Check
from .loss_checker import CheckReport as CheckReport
from .loss_checker import LossCheckError as LossCheckError
from .loss_checker import check_pairwise_loss as check_pairwise_loss
from .loss_checker import check_pointwise_loss as check_pointwise_loss
