package main

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/thermocline/thermocline/connector/paimon"
	"github.com/thermocline/thermocline/internal/memory"
	"github.com/thermocline/thermocline/server/admission"
	"github.com/thermocline/thermocline/server/mysql"
)

// metrics makes the registry behind /metrics.
func metrics(in *instance, wire *mysql.Server, root *memory.Budget) *prometheus.Registry {
	reg := prometheus.NewRegistry()
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	gauge := func(name, help string, f func() float64) {
		reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "thermocline", Name: name, Help: help}, f))
	}
	counter := func(name, help string, f func() float64) {
		reg.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Namespace: "thermocline", Name: name, Help: help}, f))
	}
	gauge("memory_reserved_bytes", "Memory that queries, ingest and compaction have reserved.", func() float64 { return float64(root.Used()) })
	gauge("memory_limit_bytes", "The limit of the process's memory.", func() float64 { return float64(root.Limit()) })
	gauge("spill_bytes", "Temporary files of queries whose rows did not fit their memory.", func() float64 {
		bytes, _ := in.spill.Used()
		return float64(bytes)
	})
	gauge("mysql_connections", "Open connections of the MySQL port.", func() float64 { return float64(wire.Stats().Open) })
	counter("mysql_connections_total", "Connections that the MySQL port accepted.", func() float64 { return float64(wire.Stats().Accepted) })
	counter("mysql_connections_refused_total", "Connections beyond the limit.", func() float64 { return float64(wire.Stats().Refused) })
	counter("mysql_logins_denied_total", "Logins that were denied.", func() float64 { return float64(wire.Stats().Denied) })
	gauge("sessions", "Open sessions.", func() float64 { return float64(in.sessions.Counters().Sessions) })
	counter("statements_total", "Statements that were run.", func() float64 { return float64(in.sessions.Counters().Statements) })
	counter("statements_slow_total", "Statements longer than long_query_time.", func() float64 { return float64(in.sessions.Counters().SlowStatements) })
	counter("statements_failed_total", "Statements that ended with an error.", func() float64 { return float64(in.sessions.Counters().Errors) })
	for class, of := range map[string]admission.Class{"heavy": admission.Heavy, "light": admission.Light} {
		figures := func() admission.Stats { return in.sessions.Queue().Stats(of) }
		gauge := func(name, help string, f func() float64) {
			reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "thermocline", Name: name, Help: help, ConstLabels: prometheus.Labels{"class": class}}, f))
		}
		counter := func(name, help string, f func() float64) {
			reg.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Namespace: "thermocline", Name: name, Help: help, ConstLabels: prometheus.Labels{"class": class}}, f))
		}
		gauge("queries_running", "Queries of tables that run now.", func() float64 { return float64(figures().Running) })
		gauge("queries_queued", "Queries that wait for their turn.", func() float64 { return float64(figures().Waiting) })
		gauge("query_slots", "Queries that may run at once.", func() float64 { return float64(figures().Slots) })
		counter("queries_queued_total", "Queries that had to wait.", func() float64 { return float64(figures().Waits) })
		counter("query_queue_timeouts_total", "Queries that waited longer than lake_queue_timeout.", func() float64 { return float64(figures().Timeouts) })
		counter("query_queue_seconds_total", "Time that queries waited.", func() float64 { return figures().Waited.Seconds() })
	}
	stats := func() paimon.UpkeepStats {
		sum := in.care.stats()
		if in.upkeep != nil {
			sum = add(sum, in.upkeep.Stats())
		}
		return sum
	}
	gauge("maintained_tables", "Tables that are maintained by default.", func() float64 { return float64(stats().Tables) })
	counter("maintenance_runs_total", "Looks at tables to maintain.", func() float64 { return float64(stats().Runs) })
	counter("maintenance_failures_total", "Looks that failed.", func() float64 { return float64(stats().Failures) })
	counter("compacted_buckets_total", "Buckets that maintenance has compacted.", func() float64 { return float64(stats().Compactions) })
	counter("compactions_dropped_total", "Compactions that other commits made void.", func() float64 { return float64(stats().Dropped) })
	counter("compacted_files_total", "Files that maintenance has compacted.", func() float64 { return float64(stats().Files) })
	counter("compacted_bytes_total", "Bytes of these files.", func() float64 { return float64(stats().Bytes) })
	reg.MustRegister(pipelineMetrics{in})
	return reg
}

// pipelineMetrics describes the pipelines at the moment of a scrape.
type pipelineMetrics struct{ in *instance }

var pipelineLabels = []string{"pipeline"}

func pipelineDesc(name, help string) *prometheus.Desc {
	return prometheus.NewDesc("thermocline_pipeline_"+name, help, pipelineLabels, nil)
}

var (
	descUp         = pipelineDesc("up", "1 while the pipeline copies or follows its source.")
	descLag        = pipelineDesc("lag_seconds", "Time between the source's commit and ours of the newest transaction.")
	descRead       = pipelineDesc("rows_read_total", "Changed rows read from the source.")
	descCommitted  = pipelineDesc("rows_committed_total", "Changed rows visible in the lake.")
	descRounds     = pipelineDesc("rounds_total", "Commit rounds with changes.")
	descReconnects = pipelineDesc("reconnects_total", "Times that the source was connected again.")
)

func pipelineTableDesc(name, help string) *prometheus.Desc {
	return prometheus.NewDesc("thermocline_pipeline_table_"+name, help, []string{"pipeline", "table"}, nil)
}

var (
	descTableUp  = pipelineTableDesc("up", "1 while the lake table is copied or followed, 0 when it has stopped.")
	descTableLag = pipelineTableDesc("lag_seconds", "Time between the source's commit and ours of the table's newest transaction.")
	descTableIn  = pipelineTableDesc("rows_read_total", "Changed rows of the table read from the source.")
	descTableOut = pipelineTableDesc("rows_committed_total", "Changed rows of the table visible in the lake.")
	descInvalid  = pipelineDesc("values_nulled_total", "Values that the lake's type cannot hold and that became NULL.")
	descDiscards = pipelineDesc("rounds_discarded_total", "Rounds that were thrown away and read again.")
)

// Describe implements prometheus.Collector.
func (pipelineMetrics) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{descUp, descLag, descRead, descCommitted, descRounds, descReconnects, descTableUp, descTableLag, descTableIn, descTableOut, descInvalid, descDiscards} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (p pipelineMetrics) Collect(ch chan<- prometheus.Metric) {
	for _, s := range p.in.runner.Status() {
		up := 0.0
		if s.State == "snapshotting" || s.State == "streaming" {
			up = 1
		}
		ch <- prometheus.MustNewConstMetric(descUp, prometheus.GaugeValue, up, s.Name)
		if s.Lag >= 0 {
			ch <- prometheus.MustNewConstMetric(descLag, prometheus.GaugeValue, s.Lag.Seconds(), s.Name)
		}
		for d, v := range map[*prometheus.Desc]int64{descRead: s.RowsRead, descCommitted: s.RowsCommitted, descRounds: s.Rounds, descReconnects: s.Reconnects,
			descInvalid: s.Invalid, descDiscards: s.Discarded} {
			ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), s.Name)
		}
		for _, t := range s.Tables {
			up := 1.0
			if t.Phase == "stopped" {
				up = 0
			}
			ch <- prometheus.MustNewConstMetric(descTableUp, prometheus.GaugeValue, up, s.Name, t.Table)
			if t.Lag >= 0 {
				ch <- prometheus.MustNewConstMetric(descTableLag, prometheus.GaugeValue, t.Lag.Seconds(), s.Name, t.Table)
			}
			ch <- prometheus.MustNewConstMetric(descTableIn, prometheus.CounterValue, float64(t.RowsRead), s.Name, t.Table)
			ch <- prometheus.MustNewConstMetric(descTableOut, prometheus.CounterValue, float64(t.Rows), s.Name, t.Table)
		}
	}
}
