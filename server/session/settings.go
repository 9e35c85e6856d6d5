package session

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/thermocline/thermocline/internal/memory"
	"github.com/thermocline/thermocline/scan"
	"github.com/thermocline/thermocline/server/metadata"
)

// settings are the session variables that every statement needs, as values. They
// are made anew when a variable of the session has changed.
type settings struct {
	version uint64 // of the variables that they were made from

	scan                     scan.Options
	sharing                  bool
	autocommit               bool
	maxExecution             time.Duration
	selectLimit              int64 // -1: none
	collation                string
	clientCollation, results string
	divPrecision, concat     int
	packet, week             int
	monthNames               string
	now                      time.Time // of SET timestamp; zero: the clock's
}

// settings returns the settings of the session's variables now. They are not
// changed. It may be called by any goroutine of the statement.
func (s *Session) settings() *settings {
	version := s.vars.version.Load()
	if x := s.settled.Load(); x != nil && x.version == version {
		return x
	}
	x := s.newSettings()
	x.version = version
	s.settled.Store(x)
	return x
}

func (s *Session) newSettings() *settings {
	x := &settings{
		sharing:      s.on("lake_sharing"),
		autocommit:   s.on("autocommit"),
		maxExecution: time.Duration(s.number("max_execution_time")) * time.Millisecond,
		selectLimit:  -1,
		collation:    s.text("collation_connection"),
		divPrecision: int(s.number("div_precision_increment")),
		concat:       int(min(s.number("group_concat_max_len"), math.MaxInt32)),
		packet:       int(s.number("max_allowed_packet")),
		week:         int(s.number("default_week_format")),
		monthNames:   s.text("lc_time_names"),

		clientCollation: metadata.DefaultCollationOf(s.text("character_set_client")),
		results:         s.resultsCollation(),
	}
	x.scan = scan.Options{NoPruning: !s.on("lake_pruning"), NoPages: !s.on("lake_page_cache"), Threads: int(s.number("lake_threads")), BatchRows: int(s.number("lake_batch_rows")),
		NoSpill: s.text("lake_spill") == "OFF", ForceSpill: s.text("lake_spill") == "FORCE"}
	if n, err := memory.ParseSize(s.text("lake_query_memory")); err == nil {
		x.scan.Memory = n
	}
	if n := s.number("sql_select_limit"); n <= math.MaxInt64 {
		x.selectLimit = int64(n)
	}
	if t := s.text("timestamp"); t != "0" && t != "0.000000" {
		if f, err := strconv.ParseFloat(t, 64); err == nil && f > 0 {
			x.now = time.UnixMicro(int64(math.Round(f * 1e6)))
		}
	}
	return x
}

// resultsCollation is the collation of character_set_results.
func (s *Session) resultsCollation() string {
	d, _ := metadata.LookupVariable("character_set_results")
	v, null := s.vars.get(d)
	if null || v == "binary" {
		return ""
	}
	if c := s.text("collation_connection"); strings.HasPrefix(c, v+"_") {
		return c
	}
	return metadata.DefaultCollationOf(v)
}

// ResultsCollation is the collation of character_set_results; "" is NULL:
// results keep their columns' own.
func (s *Session) ResultsCollation() string { return s.settings().results }

// ClientCollation is a collation of character_set_client, in which statement
// texts and string parameters arrive.
func (s *Session) ClientCollation() string { return s.settings().clientCollation }
