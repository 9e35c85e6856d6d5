package errs

// Kinds of faults in JSON.
const (
	InvalidJSONArg  Kind = "invalid json argument"     // 3141
	JSONNoObject    Kind = "json: an object is needed" // 3853
	JSONDepth       Kind = "json too deep"             // 3157
	JSONArgType     Kind = "json argument type"        // 3064
	JSONNotCell     Kind = "json path to no cell"      // 3165
	JSONVacuousPath Kind = "json path is the document" // 3153
	// Of JSON_TABLE.
	JSONTableMissing Kind = "json_table: no value"     // 3665
	JSONTableScalar  Kind = "json_table: no scalar"    // 3666
	JSONTableRange   Kind = "json_table: out of range" // 3669
	TableFuncAlias   Kind = "table function alias"     // 3667
	JSONBoolean      Kind = "json as condition"        // 3986
)
