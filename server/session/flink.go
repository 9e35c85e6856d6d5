package session

import (
	"maps"
	"slices"
	"strings"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/syntax"
	"github.com/thermocline/thermocline/scan/expr"
	"github.com/thermocline/thermocline/server/metadata"
)

// flinkKeys are the settings of Flink's SQL client that scripts set and that
// change nothing here: the engine checkpoints, parallelizes and prints by its
// own rules.
var flinkKeys = strings.Fields(`
execution.runtime-mode execution.checkpointing.interval execution.checkpointing.mode execution.checkpointing.timeout
execution.checkpointing.min-pause execution.checkpointing.max-concurrent-checkpoints execution.checkpointing.unaligned
execution.checkpointing.unaligned.enabled execution.checkpointing.tolerable-failed-checkpoints execution.checkpointing.dir
execution.checkpointing.storage execution.checkpointing.savepoint-dir execution.checkpointing.incremental
execution.checkpointing.num-retained execution.checkpointing.externalized-checkpoint-retention execution.attached execution.target
execution.batch.adaptive.auto-parallelism.enabled
state.backend state.backend.type state.backend.incremental state.checkpoints.dir state.checkpoints.num-retained
state.checkpoint-storage state.savepoints.dir state.backend.rocksdb.memory.managed
parallelism.default pipeline.max-parallelism pipeline.name pipeline.object-reuse pipeline.operator-chaining pipeline.jars
pipeline.operator-chaining.enabled pipeline.auto-watermark-interval
table.exec.sink.upsert-materialize table.exec.sink.not-null-enforcer table.exec.resource.default-parallelism
table.exec.source.idle-timeout table.exec.source.cdc-events-duplicate table.exec.state.ttl table.exec.mini-batch.enabled
table.exec.mini-batch.allow-latency table.exec.mini-batch.size table.exec.sink.keyed-shuffle table.exec.spill-compression.enabled
table.optimizer.agg-phase-strategy table.optimizer.join-reorder-enabled table.optimizer.distinct-agg.split.enabled
table.optimizer.reuse-source-enabled table.optimizer.reuse-sub-plan-enabled table.optimizer.multiple-input-enabled
table.dynamic-table-options.enabled table.dml-sync table.plan.force-recompile table.generated-code.max-length
sql-client.execution.result-mode sql-client.execution.max-table-result.rows sql-client.verbose sql-client.display.max-column-width
sql-client.display.print-time-cost sql-client.display.color-schema
restart-strategy restart-strategy.type restart-strategy.fixed-delay.attempts restart-strategy.fixed-delay.delay
taskmanager.numberOfTaskSlots taskmanager.memory.process.size jobmanager.memory.process.size rest.address rest.port
`)

// runtimeMode is the setting that makes SELECTs continuous.
const runtimeMode = "execution.runtime-mode"

// continuous reports whether a SELECT from a table that can be followed is a
// continuous read.
func (s *Session) continuous() bool { return strings.EqualFold(s.flink[runtimeMode], "streaming") }

// setFlink runs Flink's SET 'key' = 'value'.
func (s *Session) setFlink(n *syntax.SetOption) error {
	key := n.Key
	switch {
	case key == "table.local-time-zone":
		z := n.Value
		if strings.EqualFold(z, "default") {
			z = "SYSTEM"
		}
		// Flink writes offsets as GMT+08:00, too.
		z = strings.TrimPrefix(z, "GMT")
		loc, err := zoneOf(z)
		if err != nil {
			return errs.UserAt(n.Pos(), errs.UnknownTimeZone, "Unknown or incorrect time zone: '%s'", n.Value)
		}
		s.vars.set("time_zone", z)
		s.zone = loc
	case key == runtimeMode:
		mode := strings.ToLower(n.Value)
		if mode != "streaming" && mode != "batch" && mode != "automatic" {
			return errs.UserAt(n.Pos(), errs.WrongValueForVar, "set '%s': '%s' is none of streaming, batch and automatic", key, n.Value)
		}
		if mode == "streaming" {
			s.warnings.Add(expr.Warning{Level: "Note", Message: "a SELECT from a lake table is continuous from now on: it does not end by itself"})
		}
	case slices.Contains(flinkKeys, key):
		s.warnings.Add(expr.Warning{Level: "Note", Message: "the setting " + key + " changes nothing here"})
	default:
		if _, err := metadata.LookupVariable(key); err == nil {
			return errs.UserAt(n.Pos(), errs.UnknownVariable, "set '%s': it is a system variable; write SET %s = …", key, key)
		}
		return errs.UserAt(n.Pos(), errs.UnknownVariable, "set '%s': there is no such setting%s", key, nearest(key, flinkKeys))
	}
	s.flink[key] = n.Value
	return nil
}

// resetFlink runs Flink's RESET.
func (s *Session) resetFlink(n *syntax.ResetOption) error {
	if n.Key == "" {
		clear(s.flink)
		s.vars.set("time_zone", "SYSTEM")
		s.changed("time_zone", false)
		return nil
	}
	if n.Key != "table.local-time-zone" && !slices.Contains(flinkKeys, n.Key) {
		return errs.UserAt(n.Pos(), errs.UnknownVariable, "reset '%s': there is no such setting%s", n.Key, nearest(n.Key, flinkKeys))
	}
	delete(s.flink, n.Key)
	if n.Key == "table.local-time-zone" {
		s.vars.set("time_zone", "SYSTEM")
		s.changed("time_zone", false)
	}
	return nil
}

// flinkSettings is Flink's SET without anything.
func (s *Session) flinkSettings() metadata.Listing {
	l := metadata.Listing{Fields: metadata.ParseFields("key|varchar(256)!; value|varchar(4096)"), LikeColumn: -1}
	for _, k := range slices.Sorted(maps.Keys(s.flink)) {
		l.Rows = append(l.Rows, metadata.Row{k, s.flink[k]})
	}
	return l
}

// nearest returns "; did you mean x?" for a known name close to a wrong one.
func nearest(name string, known []string) string {
	best, at := 4, ""
	for _, k := range known {
		if d := distance(name, k, best); d < best {
			best, at = d, k
		}
	}
	if at == "" {
		return ""
	}
	return "; did you mean '" + at + "'?"
}

// distance is the Levenshtein distance, or limit when it is not below.
func distance(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := diagonal
			if a[i-1] != b[j-1] {
				cost++
			}
			diagonal = row[j]
			row[j] = min(cost, row[j]+1, row[j-1]+1)
		}
	}
	return min(row[len(b)], limit)
}
