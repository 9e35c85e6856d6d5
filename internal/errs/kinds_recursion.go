package errs

// Kinds of recursive common table expressions, with MySQL's codes.
const (
	RecursionUnion Kind = "recursion without union" // 3573
	RecursionForm  Kind = "recursion form"          // 3575: aggregates, windows in the recursive part
	RecursionOnce  Kind = "recursion once"          // 3577
	RecursionDepth Kind = "recursion depth"         // 3636
)
