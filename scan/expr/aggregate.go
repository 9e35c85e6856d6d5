package expr

import (
	"slices"

	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// OrderItem is one key of an ORDER BY inside an aggregate.
type OrderItem struct {
	Expr Expr
	Desc bool
}

// AggregateSpec names an aggregate call.
type AggregateSpec struct {
	Name      string // COUNT, SUM, GROUP_CONCAT, …, any case; COUNT without Args is COUNT(*)
	Distinct  bool
	Args      []Expr
	Order     []OrderItem // GROUP_CONCAT
	Separator *string     // GROUP_CONCAT; nil is ","
	Average   AverageForm // AVG of whole numbers and decimals
	Filter    Expr        // FILTER (WHERE …); nil is none
}

// AverageForm says in which form AVG of whole numbers and decimals gives its
// value; see Rounded.
type AverageForm uint8

// The forms.
const (
	AverageRounded AverageForm = iota // to the type shown
	AverageExact                      // with all digits that MySQL computes, cut
	AveragePadded                     // rounded, in the type of AverageExact
	AverageReal                       // DOUBLE
)

// Aggregate is a typed aggregate function. It is immutable and safe for
// concurrent use.
type Aggregate interface {
	// Type of the result.
	Type() Type
	// Args are the expressions whose vectors Update wants, in this order: the
	// arguments with implicit casts, then the ORDER BY keys.
	Args() []Expr
	// NewState makes a state without groups.
	NewState(ctx *Context) State
	// Key is the aggregate's identity, String its text.
	Key() string
	String() string
}

// State holds the accumulators of any number of groups, numbered from 0. It
// belongs to one goroutine.
type State interface {
	// Grow makes groups [0, n) exist.
	Grow(n int)
	// Update adds rows: the k-th row that counts (sel[k], or k when sel is nil)
	// belongs to groups[k]; a nil groups is group 0 for all. n is the number of
	// rows that count. args are the vectors of Aggregate.Args.
	Update(groups []uint32, args []*vector.Vec, sel []uint16, n int) error
	// Merge adds the groups of another state of the same aggregate: its group g
	// goes into to[g]; a nil to is the identity. The other state must not be
	// used afterwards.
	Merge(other State, to []uint32) error
	// Result appends nothing to the state and returns the values of groups
	// [from, to) as a vector of the physical kind of the aggregate's type.
	Result(from, to int) (*vector.Vec, error)
	// Bytes is the memory held, for budgets.
	Bytes() int64
	// Unload returns what was accumulated as rows of Flat columns, to be written to
	// disk. The k-th row belongs to group of[k], or to group k when of is nil, in which
	// case every group has a row; the rows of a group keep their order. They may share
	// memory with the state, which must not be used afterwards. No columns: nothing was
	// accumulated.
	Unload() (of []uint32, cols []*vector.Vec)
	// Load adds rows that Unload of another state of the same aggregate gave, the
	// k-th to group groups[k].
	Load(groups []uint32, cols []*vector.Vec) error
}

// Complete says that all rows of a state have been added, and reports whether Result
// may now be called by several goroutines at once.
func Complete(s State) (concurrent bool, err error) {
	switch s := s.(type) {
	case *countState, *sumState, *pickState:
		return true, nil
	case *filteredState:
		return Complete(s.State)
	case *distinctState:
		if err := s.feed(); err != nil {
			return false, err
		}
		return Complete(s.inner)
	}
	return false, nil
}

// Selects reports whether the results of a state's groups, added as rows to another
// state of the aggregate, are as good as merging them.
func Selects(s State) bool {
	_, ok := s.(*pickState)
	return ok
}

// IsAggregate reports whether name, of any case, is an aggregate function.
func IsAggregate(name string) bool {
	_, ok := aggregates[upper(name)]
	return ok
}

// NewAggregate resolves an aggregate call. Errors: errs.WrongArgCount, and
// Unsupported for aggregates that exist in MySQL but not here.
func NewAggregate(ctx *Context, s AggregateSpec) (Aggregate, error) {
	switch upper(s.Name) {
	case "SUM", "AVG", "STD", "STDDEV", "STDDEV_POP", "STDDEV_SAMP", "VARIANCE", "VAR_POP", "VAR_SAMP":
		s.Args = slices.Clone(s.Args)
		for i := range s.Args {
			s.Args[i] = asParameter(s.Args[i], TDouble)
		}
	}
	def, ok := aggregates[upper(s.Name)]
	if !ok {
		return nil, errs.Userf(errs.UnknownFunction, "FUNCTION %s does not exist", s.Name)
	}
	if s.Filter != nil {
		return newFiltered(ctx, def, s)
	}
	return def(ctx, s)
}

type aggregateDef func(ctx *Context, s AggregateSpec) (Aggregate, error)

var aggregates = map[string]aggregateDef{}
