package errs

// Kinds of statements that change rows and definitions.
const (
	NotUpdatable     Kind = "target not updatable"         // 1288
	NotInsertable    Kind = "target not insertable-into"   // 1471
	WrongUsage       Kind = "wrong usage"                  // 1221: ORDER BY of a multi-table UPDATE
	UnknownTarget    Kind = "unknown table of a DELETE"    // 1109
	UnknownPartition Kind = "unknown partition"            // 1735
	CannotDrop       Kind = "nothing of that name to drop" // 1091
	FieldTwice       Kind = "column specified twice"       // 1110
	MergeMatchedTwo  Kind = "row merged twice"
)
