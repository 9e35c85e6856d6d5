package errs

// Kinds that occur as warnings, too.
const (
	Deprecated           Kind = "deprecated"                 // 1287
	WrongValueForFunc    Kind = "wrong value for function"   // 1411
	DatetimeOverflow     Kind = "datetime overflow"          // 1441
	DateOutOfRange       Kind = "date out of range"          // 6527
	GroupConcatCut       Kind = "group_concat cut"           // 1260
	InvalidCharacter     Kind = "invalid character string"   // 1300
	ResultTooLong        Kind = "result too long"            // 1301
	InvalidLogarithm     Kind = "invalid logarithm argument" // 3020
	DeprecatedDelimiter  Kind = "deprecated delimiter"       // 4095
	SuperfluousDelimiter Kind = "superfluous delimiter"      // 4096
	DeprecatedCharset    Kind = "deprecated character set"   // 3719
	DeprecatedNational   Kind = "deprecated national type"   // 3720
	InvalidJSONCast      Kind = "invalid json for cast"      // 3156
	UnsignedComplement   Kind = "unsigned complement"        // 1105
	InvalidJSONPath      Kind = "invalid json path"          // 3143
	CharsetForCollation  Kind = "collation of other charset" // 1253
	InvalidJSONCharset   Kind = "invalid json charset"       // 3144
	InvalidJSONType      Kind = "invalid json type"          // 3146
	JSONKeyNull          Kind = "null json key"              // 3158
	JSONPathWildcard     Kind = "json path wildcard"         // 3149
	JSONOneOrAll         Kind = "json one or all"            // 3154
	JSONSeveral          Kind = "json values"                // 3967
	JSONMissing          Kind = "json value missing"         // 3966
	IllegalValue         Kind = "illegal value"              // 1367
	RegexpIndex          Kind = "regexp index out of bounds" // 3686
)
