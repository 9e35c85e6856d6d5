package expr

import (
	"strings"

	"github.com/thermocline/thermocline/internal/errs"
)

// Call resolves a function or operator by name (any case): checks the number of
// arguments, picks the overload and result type, inserts implicit casts and
// folds constants. Operators have their symbol as name: "+", "=", "<=>",
// "AND", "NOT", "LIKE", "IN" (first argument, then the list), "BETWEEN",
// "CASE" (condition, value, …, else or NULL), "IS TRUE", "IS NULL" and so on.
//
// Errors: errs.UnknownFunction, WrongArgCount, CollationMix, Unsupported.
func Call(ctx *Context, name string, args ...Expr) (Expr, error) {
	name = upper(name)
	if name == "JSON_MERGE" {
		ctx.warn("Warning", errs.Deprecated, "'JSON_MERGE' is deprecated and will be removed in a future release. Please use JSON_MERGE_PRESERVE/JSON_MERGE_PATCH instead")
	}
	if to, ok := aliases[name]; ok {
		name = to
	}
	f, ok := functions[name]
	if !ok && (unimplemented[name] || strings.HasPrefix(name, "ST_") || strings.HasPrefix(name, "MBR")) {
		return nil, errs.Unsupportedf(-1, "the function %s", name)
	}
	if !ok {
		return nil, unknownFunction(ctx, name)
	}
	if len(args) < f.min || f.max >= 0 && len(args) > f.max {
		return nil, errs.Userf(errs.WrongArgCount, "Incorrect parameter count in the call to native function '%s'", name)
	}
	args = typeParameters(ctx, name, args)
	e, err := resolveExactly(ctx, f, args)
	if e == nil && err == nil {
		e, err = f.resolve(ctx, args)
	}
	if err != nil {
		return nil, err
	}
	if ctx.InOrder && (name == "+" || name == "-") {
		if wide := widened(e.Type(), args); len(args) > 0 && &wide[0] != &args[0] {
			if e, err = f.resolve(ctx, wide); err != nil {
				return nil, err
			}
		}
	}
	return fold(ctx, toldCall(ctx, name, args, typedJSON(e))), nil
}

// typedJSON marks JSON that is made from values which its text does not tell from
// strings, or from other such JSON.
func typedJSON(e Expr) Expr {
	c, ok := e.(*call)
	if !ok || c.typ.Class != JSON {
		return e
	}
	c.typ.Typed = c.typ.Typed || hidesTypes(c.args)
	return c
}

func hidesTypes(args []Expr) bool {
	for _, a := range args {
		if t := a.Type(); t.IsTemporal() || t.Class == Bytes || t.Class == Bit || t.Typed {
			return true
		}
	}
	return false
}

// Cast converts e to a type: explicitly, as CAST(e AS …) does.
func Cast(ctx *Context, e Expr, to Type) (Expr, error) {
	e = castParameter(e, to)
	c, err := explicitCast(ctx, e, to)
	if err != nil {
		return nil, err
	}
	return fold(ctx, typedJSON(c)), nil
}

// Unify returns the expressions converted to one type, that of COALESCE over
// them: the columns of set operations and of VALUES. Keys of joins are not
// unified but made comparable: see Comparable.
//
// Texts of two collations that make one of none are refused.
func Unify(ctx *Context, es ...Expr) ([]Expr, Type, error) {
	out, t, err := unify(ctx, es)
	if err == nil && t.Class == String {
		err = noneMixed(ctx, es)
	}
	return out, t, err
}

// UnifyInner is Unify for what stands inside another set operation, where MySQL
// accepts texts of two collations.
func UnifyInner(ctx *Context, es ...Expr) ([]Expr, Type, error) { return unify(ctx, es) }

// Comparable converts two expressions to the type in which a = b compares them,
// such as DOUBLE for a text and a number: for the keys of joins. The operands of
// an "=" that Call made are converted already.
func Comparable(ctx *Context, a, b Expr) (x, y Expr, t Type, err error) {
	return comparable2(ctx, "=", a, b)
}

// Condition returns e as a predicate: a Bool that is true where e is not zero.
func Condition(ctx *Context, e Expr) (Expr, error) { return condition(ctx, e) }

type function struct {
	name     string
	min, max int // arguments; max -1: any number
	class    string
	usage    string // "ABS(x)"
	doc      string // one line
	kinds    string // of the arguments, see spec
	resolve  func(ctx *Context, args []Expr) (Expr, error)
}

var functions = map[string]*function{}

func upper(s string) string { return strings.ToUpper(s) }

// unimplemented are functions that MySQL has and this package has not.
var unimplemented = func() map[string]bool {
	m := map[string]bool{}
	for _, n := range strings.Fields(`ASYMMETRIC_DECRYPT ASYMMETRIC_ENCRYPT CAN_ACCESS_COLUMN DEFAULT
		GEOMCOLLECTION GEOMETRYCOLLECTION GET_LOCK GTID_SUBSET GTID_SUBTRACT IS_FREE_LOCK
		 IS_USED_LOCK JSON_TABLE
		LINESTRING MASTER_POS_WAIT MATCH MULTILINESTRING MULTIPOINT MULTIPOLYGON POINT POLYGON PS_CURRENT_THREAD_ID
		PS_THREAD_ID RELEASE_ALL_LOCKS RELEASE_LOCK CURRENT_ROLE_IN CURRENT_USER_IN ETAG JSON_DUALITY_OBJECT ROLES_GRAPHML SOURCE_POS_WAIT STATEMENT_DIGEST STATEMENT_DIGEST_TEXT
		TO_VECTOR FROM_VECTOR DISTANCE VECTOR_DISTANCE VALUES WAIT_FOR_EXECUTED_GTID_SET VECTOR_DIM STRING_TO_VECTOR VECTOR_TO_STRING`) {
		m[n] = true
	}
	return m
}()

func register(f *function) {
	if functions[f.name] != nil {
		panic("function registered twice: " + f.name)
	}
	functions[f.name] = f
}

// aliases maps other names to registered ones.
var aliases = map[string]string{}

func alias(name, to string) { aliases[name] = to }

// operatorText prints operators by name.
var operatorText = map[string]func(*call) string{}

func unknownFunction(ctx *Context, name string) error {
	if ctx.Session != nil {
		if ctx.Session.Database() == "" {
			return errs.Userf(errs.NoDatabase, "No database selected")
		}
		name = ctx.Session.Database() + "." + name
	}
	return errs.Userf(errs.UnknownFunction, "FUNCTION %s does not exist", name)
}
