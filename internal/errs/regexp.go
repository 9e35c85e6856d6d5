package errs

// Kinds of faults in regular expressions.
const (
	RegexpSyntax   Kind = "regexp syntax"           // 3688
	RegexpEscape   Kind = "regexp escape"           // 3689
	RegexpParen    Kind = "regexp parenthesis"      // 3691
	RegexpInterval Kind = "regexp interval"         // 3692
	RegexpMaxMin   Kind = "regexp interval order"   // 3693
	RegexpBracket  Kind = "regexp bracket"          // 3696
	RegexpRange    Kind = "regexp range"            // 3697
	RegexpCharset  Kind = "regexp of binary string" // 3995
)
