package errs

// Kinds of faults in regular expressions.
const (
	RegexpSyntax     Kind = "regexp syntax"           // 3688
	RegexpEscape     Kind = "regexp escape"           // 3689
	RegexpParen      Kind = "regexp parenthesis"      // 3691
	RegexpInterval   Kind = "regexp interval"         // 3692
	RegexpMaxMin     Kind = "regexp interval order"   // 3693
	RegexpBracket    Kind = "regexp bracket"          // 3696
	RegexpRange      Kind = "regexp range"            // 3697
	RegexpBackRef    Kind = "regexp back-reference"   // 3694
	RegexpLookBehind Kind = "regexp look-behind"      // 3695
	RegexpStack      Kind = "regexp stack"            // 3698
	RegexpTimeout    Kind = "regexp timeout"          // 3699
	RegexpGroupName  Kind = "regexp group name"       // 3887
	RegexpNumber     Kind = "regexp number"           // 4007
	RegexpCharset    Kind = "regexp of binary string" // 3995
)
