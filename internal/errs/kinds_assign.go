package errs

// DataTruncated is a value that loses something when it is stored (1265).
const DataTruncated Kind = "data truncated"
