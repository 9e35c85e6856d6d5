package expr

// deliberate are the cases whose answer differs from MySQL's on purpose, by id,
// with the reason.
var deliberate = map[string]string{}

func init() {
	for reason, ids := range map[string][]string{
		"MySQL's constant folding replaces the first argument of NULLIF by its conversion to the column's type; its manual has NULLIF return expr1": {
			"result-type-518", "result-type-527", "result-type-529", "result-type-153", "result-type-521"},
		"an array is greater than a number, as MySQL's manual orders JSON values; its constant folding compares a BIGINT column with 0": {
			"convert-148"},
	} {
		for _, id := range ids {
			deliberate[id] = reason
		}
	}
}
