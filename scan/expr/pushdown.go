package expr

import (
	"github.com/thermocline/thermocline/catalog"
	"github.com/thermocline/thermocline/connector"
)

// PushColumn is the stored column behind a column of a batch.
type PushColumn struct {
	Pos       int           // in the snapshot's schema
	Field     catalog.Field // there
	MySQLType string        // Schema.MySQLType
}

// ToPredicate returns the part of a condition that a connector may use to leave
// out rows, or nil. It is implied by e: rows for which e is TRUE satisfy it, so
// the caller evaluates e again. columns returns what is stored behind a
// position of a ColumnExpr or StoredExpr; false for computed ones.
func ToPredicate(ctx *Context, e Expr, columns func(pos int) (PushColumn, bool)) *connector.Predicate {
	return toPredicate(ctx, e, columns)
}
