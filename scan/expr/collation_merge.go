package expr

import (
	"strings"

	"github.com/thermocline/thermocline/internal/errs"
)

// resultCollation aggregates the collations of what makes a text: two equally
// strong collations of one character set give its binary one, of coercibility
// NONE, which may not be compared.
func resultCollation(op string, ts ...Type) (Type, error) { return aggregateCollations(op, false, ts) }

// mergeCollations aggregates the collations of what is compared. op names the
// operation in the error.
func mergeCollations(op string, ts ...Type) (Type, error) { return aggregateCollations(op, true, ts) }

// comparedCollations aggregates the collations of two texts that are compared. One
// made of two collations takes the other's; MySQL refuses it on the left of the
// very binary collation that the mixed text has, but not in CASE.
func comparedCollations(op string, a, b Type) (Type, error) {
	t, err := mergeCollations(op, a, b)
	if err != nil || a.Coercibility != 1 && b.Coercibility != 1 {
		return t, err
	}
	if a.Collation == b.Collation {
		t.Coercibility = 2
		if a.Coercibility == 1 && op != "case" {
			return t, collationMix(op, nil, a, b)
		}
	}
	return t, nil
}

// aggregateCollations merges collations by coercibility. A text that was made of
// two collations (coercibility 1, NONE) is the weakest of all.
func aggregateCollations(op string, compared bool, ts []Type) (Type, error) {
	var out Type
	started, mixed := false, false
	if compared && len(ts) > 2 {
		// A collation that is written settles what the others disagree about.
		for _, t := range ts {
			if t.Coercibility == 0 && t.Class == String && !started {
				out, started = t, true
			}
		}
	}
	for _, t := range ts {
		if t.Class == Bytes {
			t.Collation = "binary"
		}
		if t.Collation == "" || t.Class == Null {
			continue
		}
		if !started {
			out, started = t, true
			continue
		}
		if mixed && out.Collation == t.Collation && t.Coercibility == 0 {
			out, mixed = t, false // the binary collation, written, settles it
			continue
		}
		if out.Collation == t.Collation {
			switch {
			case mixed:
				continue
			case out.Coercibility == 1:
				out.Coercibility = t.Coercibility
				continue
			case t.Coercibility == 1:
				continue
			}
			out.Coercibility = min(out.Coercibility, t.Coercibility)
			continue
		}
		switch {
		case out.Collation == "binary" || t.Collation == "binary":
			if out.Collation == "binary" && out.Coercibility > t.Coercibility || t.Collation == "binary" && t.Coercibility <= out.Coercibility {
				out = t
			}
			continue
		}
		csA, csB := charsetOf(out.Collation), charsetOf(t.Collation)
		if csA != csB {
			// A character set that contains the other wins unless the other's
			// collation is stronger and its text can be converted.
			aUni, bUni := unicodeCharset(csA), unicodeCharset(csB)
			switch {
			case superset(csA, csB) && (out.Coercibility < t.Coercibility || out.Coercibility == t.Coercibility && aUni):
			case superset(csB, csA) && (t.Coercibility < out.Coercibility || t.Coercibility == out.Coercibility && bUni):
				out = t
			case out.Coercibility < t.Coercibility && t.Coercibility >= 3:
			case t.Coercibility < out.Coercibility && out.Coercibility >= 3:
				out = t
			default:
				return Type{}, collationMix(op, ts, out, t)
			}
			continue
		}
		switch {
		case mixed && t.Coercibility == 2:
			out, mixed = t, false
		case mixed, t.Coercibility == 1:
		case out.Coercibility == 1:
			out = t
		case out.Coercibility < t.Coercibility:
		case t.Coercibility < out.Coercibility:
			out = t
		case out.Coercibility == 0:
			return Type{}, collationMix(op, ts, out, t)
		case strings.HasSuffix(out.Collation, "_bin"):
		case strings.HasSuffix(t.Collation, "_bin"):
			out = t
		case !compared:
			out.Collation, out.Coercibility = csA+"_bin", 1
			mixed = true
		default:
			return Type{}, collationMix(op, ts, out, t)
		}
	}
	return out, nil
}

func superset(a, b string) bool {
	if b == "ascii" && a != "ascii" {
		return true
	}
	switch a {
	case "utf8mb4":
		return b != "utf8mb4"
	case "utf32":
		return b != "utf8mb4" && b != "utf32"
	}
	return unicodeCharset(a) && !unicodeCharset(b)
}

// unicodeCharset reports whether a character set has Unicode's characters.
func unicodeCharset(name string) bool { return strings.HasPrefix(name, "utf") || name == "ucs2" }

var coercibilityNames = [...]string{"EXPLICIT", "NONE", "IMPLICIT", "SYSCONST", "COERCIBLE", "NUMERIC", "IGNORABLE"}

// collationMix is the error of what is aggregated: it names two collations, or
// three, or none of more.
func collationMix(op string, all []Type, a, b Type) error {
	name := func(t Type) string {
		if t.Class == Null {
			return "(binary,NULL)"
		}
		return "(" + t.Collation + "," + coercibilityNames[min(t.Coercibility, 6)] + ")"
	}
	switch {
	case len(all) == 3 && op != "UNION":
		return errs.Userf(errs.CollationMix3, "Illegal mix of collations %s, %s, %s for operation '%s'", name(all[0]), name(all[1]), name(all[2]), op)
	case len(all) > 3 || op == "UNION":
		return errs.Userf(errs.CollationMixAll, "Illegal mix of collations for operation '%s'", op)
	}
	return errs.Userf(errs.CollationMix, "Illegal mix of collations %s and %s for operation '%s'", name(a), name(b), op)
}
