package syntax

import "strings"

// countedArguments reads the arguments of the window functions whose count or
// offset MySQL wants to be a number, parameter or variable.
func (p *parser) countedArguments(f *FuncCall, kw string) {
	if kw != "NTILE" {
		f.Args = append(f.Args, p.expr())
		if !p.is(",") {
			if kw == "NTH_VALUE" {
				p.bad()
			}
			p.nullTreatment(f)
			return
		}
		p.advance()
	}
	if p.tok.kind != tInt && p.tok.kind != tParam && p.tok.kind != tUserVar && !p.isName() {
		p.bad()
	}
	f.Args = append(f.Args, p.primary())
	if (kw == "LAG" || kw == "LEAD") && p.accept(",") {
		f.Args = append(f.Args, p.expr())
	}
	p.nullTreatment(f)
}

func (p *parser) nullTreatment(f *FuncCall) {
	switch {
	case p.accept2("IGNORE", "NULLS"):
		f.Nulls = IgnoreNulls
	case p.accept2("RESPECT", "NULLS"):
		f.Nulls = RespectNulls
	}
}

// callTail reads WITHIN GROUP, FILTER, null treatment and OVER.
func (p *parser) callTail(f *FuncCall) Expr {
	if p.is2("WITHIN", "GROUP") {
		p.advance()
		p.advance()
		p.expect("(")
		p.expect("ORDER")
		p.expect("BY")
		f.WithinGroup = p.orderItems()
		p.expect(")")
	}
	if p.is2("FILTER", "(") {
		p.advance()
		p.advance()
		p.expect("WHERE")
		f.Filter = p.expr()
		p.expect(")")
	}
	if p.is("FROM") {
		switch p.peek(1).word {
		case "LAST", "FIRST":
			if w := p.peek(2).word; w == "OVER" || w == "IGNORE" || w == "RESPECT" {
				p.advance()
				f.FromLast = p.is("LAST")
				p.advance()
			}
		}
	}
	p.nullTreatment(f)
	kind := anyFunction
	if len(f.Name.Parts) == 1 && p.o.Dialect == MySQL {
		kind = functionKinds[lower(f.Name.Parts[0].Name)]
	}
	if p.is("OVER") && kind != scalarFunction {
		p.advance()
		f.Over = p.windowRef()
	} else if kind == windowFunction {
		p.bad()
	}
	return f
}

// functionKind says where a function may have OVER.
type functionKind uint8

const (
	anyFunction    functionKind = iota // not one of MySQL's: the binder decides
	windowFunction                     // only with OVER
	scalarFunction                     // never with OVER
)

// plainAggregates are MySQL's aggregates that take no DISTINCT.
var plainAggregates = map[string]bool{
	"bit_and": true, "bit_or": true, "bit_xor": true, "std": true, "stddev": true, "stddev_pop": true, "stddev_samp": true,
	"var_pop": true, "var_samp": true, "variance": true, "json_arrayagg": true, "json_objectagg": true, "any_value": true,
}

// neverDistinct reports whether f is one of MySQL's functions that takes no
// DISTINCT; reading it and counting twice would be a wrong answer.
func neverDistinct(f *FuncCall) bool {
	name := lower(f.Name.Object())
	return len(f.Name.Parts) == 1 && name != "group_concat" && (functionKinds[name] != anyFunction || plainAggregates[name])
}

// neverOrdered reports whether f takes no ORDER BY between its parentheses.
func neverOrdered(f *FuncCall) bool {
	switch name := lower(f.Name.Object()); name {
	case "count", "sum", "avg", "min", "max":
		return true
	default:
		return neverDistinct(f)
	}
}

var functionKinds = buildFunctionKinds()

func buildFunctionKinds() map[string]functionKind {
	m := map[string]functionKind{}
	for _, n := range strings.Fields("row_number rank dense_rank percent_rank cume_dist ntile lag lead first_value last_value nth_value") {
		m[n] = windowFunction
	}
	for _, n := range strings.Fields(`abs acos adddate addtime ascii asin atan atan2 bin bit_count bit_length ceil ceiling
		char char_length character_length charset coalesce coercibility collation concat concat_ws connection_id
		conv convert_tz cos cot crc32 curdate current_date current_time current_timestamp current_user curtime
		database date date_add date_format date_sub datediff day dayname dayofmonth dayofweek dayofyear degrees
		elt exp export_set extract field find_in_set floor format found_rows from_base64 from_days from_unixtime
		get_format greatest grouping group_concat hex hour if ifnull inet_aton inet_ntoa insert instr interval isnull
		json_array json_contains json_depth json_extract json_keys json_length json_merge_patch json_object
		json_quote json_search json_set json_type json_unquote json_valid json_value last_day last_insert_id lcase
		least left length ln locate log log10 log2 lower lpad ltrim makedate maketime md5 microsecond mid minute
		mod month monthname now nullif oct octet_length ord period_add period_diff pi position pow power quarter
		quote radians rand regexp_instr regexp_like regexp_replace regexp_substr repeat replace reverse right round
		row_count rpad rtrim schema sec_to_time second session_user sha sha1 sha2 sign sin sleep soundex space sqrt
		str_to_date strcmp subdate substr substring substring_index subtime sysdate system_user tan time time_format
		time_to_sec timediff timestamp timestampadd timestampdiff to_base64 to_days to_seconds truncate ucase unhex
		unix_timestamp upper user utc_date utc_time utc_timestamp uuid version week weekday weekofyear weight_string
		year yearweek`) {
		m[n] = scalarFunction
	}
	return m
}

// windowRef reads what follows OVER.
func (p *parser) windowRef() *WindowSpec {
	if p.is("(") {
		return p.windowSpec()
	}
	return &WindowSpec{At: p.at(), Ref: p.ident()}
}

// windowSpec reads ([name] [PARTITION BY …] [ORDER BY …] [frame]).
func (p *parser) windowSpec() *WindowSpec {
	w := &WindowSpec{At: p.at(), Parens: true}
	p.expect("(")
	if p.isName() {
		w.Ref = p.ident()
	}
	if p.accept2("PARTITION", "BY") {
		w.PartitionBy = p.exprList()
	}
	if p.accept2("ORDER", "BY") {
		w.OrderBy = p.orderItems()
	}
	switch p.tok.word {
	case "ROWS", "RANGE", "GROUPS":
		w.Frame = p.frame()
	}
	p.expect(")")
	return w
}

func (p *parser) frame() *Frame {
	f := &Frame{At: p.at()}
	switch p.tok.word {
	case "RANGE":
		f.Unit = FrameRange
	case "GROUPS":
		f.Unit = FrameGroups
	}
	p.advance()
	if p.accept("BETWEEN") {
		f.Between = true
		f.Start = p.bound()
		p.expect("AND")
		f.End = p.bound()
	} else {
		f.Start = p.bound()
		f.End = FrameBound{Kind: CurrentRow}
	}
	if p.accept("EXCLUDE") {
		switch {
		case p.accept2("CURRENT", "ROW"):
			f.Exclude = "CURRENT ROW"
		case p.accept("GROUP"):
			f.Exclude = "GROUP"
		case p.accept("TIES"):
			f.Exclude = "TIES"
		default:
			p.expect("NO")
			p.expect("OTHERS")
			f.Exclude = "NO OTHERS"
		}
	}
	return f
}

func (p *parser) bound() FrameBound {
	switch {
	case p.accept2("UNBOUNDED", "PRECEDING"):
		return FrameBound{Kind: UnboundedPreceding}
	case p.accept2("UNBOUNDED", "FOLLOWING"):
		return FrameBound{Kind: UnboundedFollowing}
	case p.accept2("CURRENT", "ROW"):
		return FrameBound{Kind: CurrentRow}
	}
	var b FrameBound
	if p.is("INTERVAL") {
		b.Expr = p.intervalArg()
	} else {
		b.Expr = p.bitExpr()
	}
	if p.accept("FOLLOWING") {
		b.Kind = Following
	} else {
		p.expect("PRECEDING")
		b.Kind = Preceding
	}
	return b
}
