package exec

import (
	"context"
	"strings"

	"github.com/thermocline/thermocline/connector"
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
	"github.com/thermocline/thermocline/scan/expr"
	"github.com/thermocline/thermocline/server/plan"
)

// Truncate removes all rows of a table, in one snapshot.
func Truncate(ctx context.Context, t *plan.Target) error {
	c, err := t.Table.NewCommit(ctx, InsertUser)
	if err != nil {
		return err
	}
	return commit(ctx, c, &connector.Committable{Identifier: batchIdentifier, Overwrite: true})
}

// DropPartitions removes the partitions that have the given values, a snapshot
// each. One that is not there is an error before anything is removed, unless
// ifExists.
func DropPartitions(ctx context.Context, t *plan.Target, specs []map[int]expr.Expr, ifExists bool, env Env) error {
	var drop []map[string]*string
	for _, spec := range specs {
		values, filter, err := partitionOf(t, spec, env)
		if err != nil {
			return err
		}
		p, err := t.Base.Plan(ctx, connector.ScanRequest{Filter: filter, Budget: env.Budget})
		if err != nil {
			return err
		}
		if len(p.Splits) > 0 {
			drop = append(drop, values)
			continue
		}
		missing := errs.Userf(errs.UnknownPartition, "Unknown partition '%s' in table '%s'", partitionName(t, values), t.ID.Object())
		if !ifExists {
			return missing
		}
		env.Expr.Warnings.Add(expr.Warning{Level: "Note", Kind: errs.UnknownPartition, Message: missing.Error()})
	}
	c, err := t.Table.NewCommit(ctx, InsertUser)
	if err != nil {
		return err
	}
	for _, values := range drop {
		if err := commit(ctx, c, &connector.Committable{Identifier: batchIdentifier, Overwrite: true, OverwriteIn: values}); err != nil {
			return err
		}
	}
	return nil
}

// partitionName is a partition as its path names it.
func partitionName(t *plan.Target, values map[string]*string) string {
	var parts []string
	for _, k := range t.Schema.PartitionKeys {
		if v, ok := values[k]; ok {
			text := "NULL"
			if v != nil {
				text = *v
			}
			parts = append(parts, k+"="+text)
		}
	}
	return strings.Join(parts, "/")
}

// partitionOf gives the values of PARTITION (a = 1) as text, and a condition
// that the partition's rows satisfy.
func partitionOf(t *plan.Target, spec map[int]expr.Expr, env Env) (map[string]*string, *connector.Predicate, error) {
	values := map[string]*string{}
	var all []*connector.Predicate
	for i, x := range spec {
		f := t.Schema.Fields[i]
		f.Type.NotNull = false
		a, err := newAssigner(env.Expr, f, t.Types[i], x.Type(), true)
		if err != nil {
			return nil, nil, err
		}
		v, err := x.Eval(env.Expr, &vector.Batch{Len: 1, Seq: -1})
		if err != nil {
			return nil, nil, err
		}
		w, err := a.convert(v, nil, 1, 1)
		if err != nil {
			return nil, nil, err
		}
		if w.IsNull(0) {
			values[f.Name] = nil
			all = append(all, &connector.Predicate{Op: connector.IsNull, Column: i})
			continue
		}
		all = append(all, &connector.Predicate{Op: connector.Eq, Column: i, Value: w})
		if w, err = loaded(env, t, i, w); err != nil {
			return nil, nil, err
		}
		text := string(expr.AppendText(nil, t.Types[i], w, 0, env.Expr.Zone))
		values[f.Name] = &text
	}
	return values, connector.AndOf(all...), nil
}
