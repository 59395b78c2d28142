"""Where a model's files are on this machine, and a digest of them."""

from __future__ import annotations

import hashlib
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from huggingface_hub import snapshot_download
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    LocalEntryNotFoundError,
    RepositoryNotFoundError,
)

from scoring.metrics.contract import SetupError

# The same weights for other frameworks.
_NOT_OURS = ["*.h5", "*.msgpack", "*.onnx", "*.gguf", "*.tflite", "*.ot"]

_REVISION = re.compile(r"[0-9a-f]{40}")


def folder_of(name: str) -> Path:
    """The folder with a model's files: `name` itself if it is one, else what the hub calls so, downloaded if needed.

    Raises SetupError with the command or variable that mends it.
    """
    folder = Path(name).expanduser()
    if folder.is_dir():
        return folder
    if name.startswith(("/", ".", "~")):
        raise SetupError(f"There is no folder {name}. Give the folder that holds the model's config.json.")
    try:
        return Path(snapshot_download(name, ignore_patterns=_NOT_OURS))
    except GatedRepoError as error:
        raise SetupError(
            f"{name} is given only to those who accept its terms. Accept them on the model's page, then run "
            "`hf auth login` or set HF_TOKEN, and try again."
        ) from error
    except RepositoryNotFoundError as error:
        raise SetupError(
            f"The hub shows no model {name}. Check the spelling; a private one needs HF_TOKEN or `hf auth login`."
        ) from error
    except HFValidationError as error:
        raise SetupError(
            f"{name!r} is neither a folder nor a name on the hub (owner/model). Check the spelling."
        ) from error
    except (LocalEntryNotFoundError, HfHubHTTPError, ConnectionError) as error:
        raise SetupError(
            f"{name} is not on this machine and the hub cannot be reached. Where there is a network, run "
            f"`hf download {name}`, copy the folder here, and give its path; or set HF_HOME to a cache that has it."
        ) from error
    except OSError as error:
        raise SetupError(
            f"{name} could not be downloaded: {error}. Make room, or set HF_HOME elsewhere."
        ) from error


def digest_of_folder(folder: Path) -> str:
    """What tells these files from any others: the commit of a snapshot from the hub, else a SHA-256 of all contents
    but hidden files and prose. Hashing reads every byte, some seconds for ten gigabytes."""
    if folder.parent.name == "snapshots" and _REVISION.fullmatch(folder.name):
        return f"revision:{folder.name}"
    files = sorted(path for path in folder.rglob("*") if path.is_file() and _counts(path.relative_to(folder)))
    with ThreadPoolExecutor(4) as pool:
        digests = list(pool.map(digest_of_file, files))
    lines = [
        f"{path.relative_to(folder).as_posix()} {digest}" for path, digest in zip(files, digests, strict=True)
    ]
    return "sha256:" + hashlib.sha256("\n".join(lines).encode()).hexdigest()


def digest_of_file(path: Path) -> str:
    with path.open("rb") as file:
        return "sha256:" + hashlib.file_digest(file, "sha256").hexdigest()


def _counts(path: Path) -> bool:
    return path.suffix != ".md" and not any(part.startswith(".") for part in path.parts)
