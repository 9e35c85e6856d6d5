package paimon

import (
	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/internal/errs"
)

func newSystemTable(t *Table, id catalog.Identifier) (connector.Readable, error) {
	return nil, errs.Unsupportedf(-1, "the system table %s", id)
}
