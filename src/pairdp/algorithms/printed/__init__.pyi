from . import huai2020 as huai2020
from . import kang2021 as kang2021
from . import wang2024 as wang2024
from . import wang2024_steps as wang2024_steps
from . import xue2021 as xue2021
from . import yang2021 as yang2021
