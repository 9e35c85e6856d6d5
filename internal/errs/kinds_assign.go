package errs

// DataTruncated is a value that loses something when it is stored (1265).
const DataTruncated Kind = "data truncated"

// EmptyValues is a row of VALUES without values (3942).
const EmptyValues Kind = "empty values row"

// ViewColumns is a list of column names that does not fit its query (1353).
const ViewColumns Kind = "view columns"

// GroupingArgument is an argument of GROUPING that is no key (3602).
const GroupingArgument Kind = "grouping argument"
