package metadata

import (
	_ "embed"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/memory"
	"github.com/thermocline/thermocline/scan/expr"
)

// ServerVersion is the MySQL version that clients are told, in the greeting,
// VERSION() and @@version. What follows the digits is free.
const ServerVersion = "8.0.43-Thermocline"

// VariableScope says where a system variable has values.
type VariableScope uint8

// The scopes.
const (
	GlobalScope  VariableScope = 1
	SessionScope VariableScope = 2
	BothScopes                 = GlobalScope | SessionScope
)

// VariableType is the type of a system variable's values.
type VariableType uint8

// The types.
const (
	BoolVariable   VariableType = iota // ON, OFF; 1 and 0 in @@x
	IntVariable                        // unsigned unless Min is negative
	DoubleVariable                     // six fraction digits
	StringVariable
	EnumVariable // one of Values, in the spelling given there
	SetVariable  // kept as text; sql_mode and the switch lists are checked
	SizeVariable // 512MiB, 1GiB or bytes
)

// Effect says what setting a variable does here.
type Effect uint8

// The effects.
const (
	// NoEffect variables are accepted and shown, and change nothing: they are
	// about parts that we do not have, or about hints that never change an answer.
	NoEffect Effect = iota
	// Honoured variables change what statements do.
	Honoured
	// FixedEffect variables would change answers if they were honoured; only
	// their default is accepted.
	FixedEffect
)

// Variable describes a system variable. It is immutable.
type Variable struct {
	Name   string
	Scope  VariableScope
	Type   VariableType
	Effect Effect
	// ReadOnly variables cannot be set; SessionReadOnly ones only with SET
	// GLOBAL.
	ReadOnly, SessionReadOnly bool
	// Min and Max are bounds of integers, Max 0 for none. Values out of bounds
	// are moved to the nearest bound, with a warning, as MySQL does.
	Min int64
	Max uint64
	// Default is the value as SHOW VARIABLES prints it. Null variables are NULL
	// in @@x.
	Default string
	Null    bool
	Values  []string // EnumVariable
}

//go:embed data/sysvars.tsv
var sysvarsTSV string

var allVariables = sync.OnceValue(func() []*Variable {
	var out []*Variable
	for line := range strings.Lines(sysvarsTSV) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		v := &Variable{Name: f[0], Default: f[6]}
		v.Scope = map[string]VariableScope{"G": GlobalScope, "S": SessionScope, "B": BothScopes}[f[1]]
		v.Type = map[string]VariableType{"bool": BoolVariable, "int": IntVariable, "double": DoubleVariable,
			"string": StringVariable, "enum": EnumVariable, "set": SetVariable}[f[2]]
		v.ReadOnly, v.SessionReadOnly = f[3] == "r", f[3] == "g"
		if v.Type == IntVariable {
			v.Min, _ = strconv.ParseInt(f[4], 10, 64)
			v.Max, _ = strconv.ParseUint(f[5], 10, 64)
		}
		if v.Default == `\N` {
			v.Default, v.Null = "", true
		}
		if own, ok := settings[v.Name]; ok {
			v.Effect, v.Values = own.effect, own.values
		}
		if v.Type == EnumVariable && v.Values == nil {
			v.Values = []string{v.Default}
		}
		switch v.Name {
		case "version", "innodb_version":
			v.Default = ServerVersion
			if v.Name == "innodb_version" {
				v.Default, _, _ = strings.Cut(ServerVersion, "-")
			}
		}
		out = append(out, v)
	}
	out = append(out, lakeVariables...)
	slices.SortFunc(out, func(a, b *Variable) int { return strings.Compare(a.Name, b.Name) })
	return out
})

// lakeVariables are the switches of DESIGN §4.
var lakeVariables = []*Variable{
	{Name: "lake_batch_rows", Scope: BothScopes, Type: IntVariable, Effect: Honoured, Min: 1, Max: 65536, Default: "4096"},
	{Name: "lake_ddl_dialect", Scope: BothScopes, Type: EnumVariable, Effect: Honoured, Default: "mysql", Values: []string{"mysql", "flink"}},
	{Name: "lake_freshness", Scope: BothScopes, Type: EnumVariable, Effect: Honoured, Default: "committed", Values: []string{"committed", "live"}},
	{Name: "lake_insert", Scope: BothScopes, Type: EnumVariable, Effect: Honoured, Default: "upsert", Values: []string{"upsert", "strict"}},
	{Name: "lake_page_cache", Scope: BothScopes, Type: BoolVariable, Effect: Honoured, Default: "ON"},
	{Name: "lake_pruning", Scope: BothScopes, Type: BoolVariable, Effect: Honoured, Default: "ON"},
	{Name: "lake_query_memory", Scope: BothScopes, Type: SizeVariable, Effect: Honoured, Default: "0"},
	{Name: "lake_query_slots", Scope: GlobalScope, Type: IntVariable, Effect: Honoured, Max: 1024, Default: "0"},
	{Name: "lake_queue_timeout", Scope: GlobalScope, Type: IntVariable, Effect: Honoured, Max: 31536000, Default: "600"},
	{Name: "lake_sharing", Scope: BothScopes, Type: BoolVariable, Effect: Honoured, Default: "ON"},
	{Name: "lake_spill", Scope: BothScopes, Type: EnumVariable, Effect: Honoured, Default: "ON", Values: []string{"OFF", "ON", "FORCE"}},
	{Name: "lake_threads", Scope: BothScopes, Type: IntVariable, Effect: Honoured, Max: 1024, Default: "0"},
}

// settings are variables whose setting does something here, or must not be
// pretended to; values are those of an enum.
var settings = map[string]struct {
	effect Effect
	values []string
}{
	"autocommit":                         {Honoured, nil},
	"character_set_client":               {Honoured, nil},
	"character_set_connection":           {Honoured, nil},
	"character_set_results":              {Honoured, nil},
	"collation_connection":               {Honoured, nil},
	"cte_max_recursion_depth":            {Honoured, nil},
	"default_week_format":                {Honoured, nil},
	"div_precision_increment":            {Honoured, nil},
	"group_concat_max_len":               {Honoured, nil},
	"identity":                           {Honoured, nil},
	"last_insert_id":                     {Honoured, nil},
	"long_query_time":                    {Honoured, nil},
	"max_allowed_packet":                 {Honoured, nil},
	"max_execution_time":                 {Honoured, nil},
	"slow_query_log":                     {Honoured, nil},
	"regexp_stack_limit":                 {Honoured, nil},
	"regexp_time_limit":                  {Honoured, nil},
	"sql_mode":                           {Honoured, nil},
	"sql_select_limit":                   {Honoured, nil},
	"time_zone":                          {Honoured, nil},
	"timestamp":                          {Honoured, nil},
	"transaction_read_only":              {Honoured, nil},
	"net_write_timeout":                  {NoEffect, nil},
	"transaction_isolation":              {NoEffect, []string{"READ-UNCOMMITTED", "READ-COMMITTED", "REPEATABLE-READ", "SERIALIZABLE"}},
	"completion_type":                    {FixedEffect, []string{"NO_CHAIN", "CHAIN", "RELEASE"}},
	"block_encryption_mode":              {Honoured, expr.EncryptionModes},
	"default_collation_for_utf8mb4":      {FixedEffect, nil},
	"sql_auto_is_null":                   {NoEffect, nil}, // no table has AUTO_INCREMENT
	"sql_require_primary_key":            {FixedEffect, nil},
	"sql_safe_updates":                   {FixedEffect, nil},
	"sql_quote_show_create":              {FixedEffect, nil},
	"lc_time_names":                      {FixedEffect, nil},
	"rand_seed1":                         {FixedEffect, nil},
	"rand_seed2":                         {FixedEffect, nil},
	"end_markers_in_json":                {FixedEffect, nil},
	"explain_format":                     {Honoured, []string{"TRADITIONAL", "TREE", "JSON"}},
	"resultset_metadata":                 {FixedEffect, []string{"FULL", "NONE"}},
	"sql_generate_invisible_primary_key": {FixedEffect, nil},
	"binlog_format":                      {NoEffect, []string{"MIXED", "STATEMENT", "ROW"}},
	"binlog_row_image":                   {NoEffect, []string{"MINIMAL", "NOBLOB", "FULL"}},
	"session_track_gtids":                {NoEffect, []string{"OFF", "OWN_GTID", "ALL_GTIDS"}},
	"session_track_transaction_info":     {NoEffect, []string{"OFF", "STATE", "CHARACTERISTICS"}},
	"internal_tmp_mem_storage_engine":    {NoEffect, []string{"MEMORY", "TempTable"}},
	"terminology_use_previous":           {NoEffect, []string{"NONE", "BEFORE_8_0_26"}},
	"use_secondary_engine":               {NoEffect, []string{"OFF", "ON", "FORCED"}},
	"updatable_views_with_limit":         {NoEffect, []string{"NO", "YES"}},
	"rbr_exec_mode":                      {NoEffect, []string{"STRICT", "IDEMPOTENT"}},
	"group_replication_consistency":      {NoEffect, []string{"EVENTUAL", "BEFORE_ON_PRIMARY_FAILOVER", "BEFORE", "AFTER", "BEFORE_AND_AFTER"}},
	"transaction_write_set_extraction":   {NoEffect, []string{"OFF", "MURMUR32", "XXHASH64"}},
}

var variableIndex = sync.OnceValue(func() map[string]*Variable {
	m := map[string]*Variable{}
	for _, v := range allVariables() {
		m[v.Name] = v
	}
	return m
})

// Variables returns all system variables, sorted by name.
func Variables() []*Variable { return allVariables() }

// LookupVariable finds a variable; names are case-insensitive. Errors:
// errs.UnknownVariable.
func LookupVariable(name string) (*Variable, error) {
	if v := variableIndex()[strings.ToLower(name)]; v != nil {
		return v, nil
	}
	return nil, errs.Userf(errs.UnknownVariable, "Unknown system variable '%s'", name)
}

// Value returns a value in the type that SELECT @@x has. text is as Parse
// returned it; dynamic NULLs are the caller's.
func (v *Variable) Value(text string) expr.Value {
	switch v.Type {
	case BoolVariable:
		x := expr.IntValue(0)
		if text == "ON" {
			x = expr.IntValue(1)
		}
		x.Type.Length = 1
		return x
	case IntVariable:
		if v.Min < 0 {
			n, _ := strconv.ParseInt(text, 10, 64)
			return expr.IntValue(n)
		}
		n, _ := strconv.ParseUint(text, 10, 64)
		return expr.UintValue(n)
	case SizeVariable:
		n, _ := memory.ParseSize(text)
		return expr.UintValue(uint64(n))
	case DoubleVariable:
		f, _ := strconv.ParseFloat(text, 64)
		return expr.DoubleValue(f)
	}
	x := expr.StringValue(text, "utf8mb4_0900_ai_ci")
	x.Type.Nullable, x.Type.Length, x.Type.Coercibility = true, 21845, 3 // a system constant
	return x
}

// Parse checks a value given to SET and returns it in the form that SHOW
// VARIABLES prints, with a warning text when it had to be changed. numeric says
// that it was a number and not a string. Character sets, collations, time zones
// and sql_mode are the caller's to check.
func (v *Variable) Parse(text string, numeric bool) (value, warning string, err error) {
	bad := func() (string, string, error) {
		return "", "", errs.Userf(errs.WrongValueForVar, "Variable '%s' can't be set to the value of '%s'", v.Name, text)
	}
	wrongType := func() (string, string, error) {
		return "", "", errs.Userf(errs.WrongTypeForVar, "Incorrect argument type to variable '%s'", v.Name)
	}
	switch v.Type {
	case BoolVariable:
		switch strings.ToUpper(strings.TrimSpace(text)) {
		case "ON", "TRUE", "1":
			value = "ON"
		case "OFF", "FALSE", "0":
			value = "OFF"
		default:
			return bad()
		}
	case IntVariable:
		if !numeric {
			return wrongType()
		}
		value, warning = v.clamp(text)
		if value == "" {
			return wrongType()
		}
	case SizeVariable:
		n, err := memory.ParseSize(text)
		if err != nil {
			return bad()
		}
		value = strconv.FormatInt(n, 10)
	case DoubleVariable:
		f, err := strconv.ParseFloat(text, 64)
		if !numeric || err != nil || math.IsNaN(f) {
			return wrongType()
		}
		value = strconv.FormatFloat(max(f, 0), 'f', 6, 64)
	case EnumVariable:
		i := slices.IndexFunc(v.Values, func(s string) bool { return strings.EqualFold(s, text) })
		if n, err := strconv.Atoi(text); i < 0 && numeric && err == nil && n >= 0 && n < len(v.Values) {
			i = n
		}
		if i < 0 {
			return bad()
		}
		value = v.Values[i]
	default:
		if numeric && v.Type == StringVariable {
			return wrongType()
		}
		value = text
	}
	if v.Effect == FixedEffect && value != v.Default {
		return "", "", errs.Unsupportedf(-1, "the value '%s' of the variable %s", text, v.Name)
	}
	return value, warning, nil
}

// clamp moves an integer into the variable's bounds; "" when it is none.
func (v *Variable) clamp(text string) (value, warning string) {
	neg := strings.HasPrefix(text, "-")
	digits := strings.TrimLeft(text, "+-")
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return "", ""
	}
	truncated := "Truncated incorrect " + v.Name + " value: '" + text + "'"
	if neg && v.Min >= 0 {
		n := strconv.FormatInt(v.Min, 10)
		if strings.Trim(digits, "0") == "" && v.Min == 0 {
			return n, ""
		}
		return n, truncated
	}
	if v.Min < 0 {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < v.Min || v.Max > 0 && n > int64(v.Max) {
			return "", ""
		}
		return strconv.FormatInt(n, 10), ""
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	if err != nil {
		n = math.MaxUint64
		warning = truncated
	}
	if n < uint64(v.Min) {
		n, warning = uint64(v.Min), truncated
	}
	if v.Max > 0 && n > v.Max {
		n, warning = v.Max, truncated
	}
	return strconv.FormatUint(n, 10), warning
}

// ParseSwitches merges a value such as "semijoin=off,mrr=default" into the
// current list of a switch variable (optimizer_switch, optimizer_trace).
func (v *Variable) ParseSwitches(current, text string) (string, error) {
	if strings.EqualFold(strings.TrimSpace(text), "default") {
		return v.Default, nil
	}
	list := strings.Split(current, ",")
	defaults := strings.Split(v.Default, ",")
	for _, part := range strings.Split(text, ",") {
		part = strings.ToLower(strings.TrimSpace(part))
		if part == "" {
			continue
		}
		name, val, ok := strings.Cut(part, "=")
		i := slices.IndexFunc(list, func(s string) bool { return strings.HasPrefix(s, name+"=") })
		if !ok || i < 0 || val != "on" && val != "off" && val != "default" {
			return "", errs.Userf(errs.WrongValueForVar, "Variable '%s' can't be set to the value of '%s'", v.Name, part)
		}
		if val == "default" {
			list[i] = defaults[i]
		} else {
			list[i] = name + "=" + val
		}
	}
	return strings.Join(list, ","), nil
}
