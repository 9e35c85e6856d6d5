package errs

// Kinds of faults in JSON.
const (
	InvalidJSONArg  Kind = "invalid json argument"     // 3141
	JSONDepth       Kind = "json too deep"             // 3157
	JSONArgType     Kind = "json argument type"        // 3064
	JSONNotCell     Kind = "json path to no cell"      // 3165
	JSONVacuousPath Kind = "json path is the document" // 3153
	JSONBoolean     Kind = "json as condition"         // 3986
)
