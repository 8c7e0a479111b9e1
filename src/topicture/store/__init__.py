"""The catalog: what is known about a collection, what people decided, what models suggested. Crash-safe."""

from topicture.store.catalog import Catalog
from topicture.store.database import CatalogError
from topicture.store.safety.lock import CatalogBusy
from topicture.store.safety.own_files import OldCatalog

__all__ = ["Catalog", "CatalogBusy", "CatalogError", "OldCatalog"]
