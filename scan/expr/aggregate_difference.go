package expr

// Subtracts reports whether what s has of some rows can be had, exactly, from what it
// has of more rows and of the rest of these: counts, and sums and averages of exact
// numbers. Windows whose frames move forward then look at each row twice, however long
// frames are (prefix sums).
func Subtracts(s State) bool {
	switch s := s.(type) {
	case *countState:
		return true
	case *sumState:
		return s.in.Class != Double
	case *filteredState:
		return Subtracts(s.State)
	}
	return false
}

// SetDifference makes group g of s what group 0 of more has and group 0 of less has not;
// the rows of less are among those of more. All are states of one aggregate for which
// Subtracts is true.
func SetDifference(s State, g int, more, less State) {
	switch s := s.(type) {
	case *countState:
		s.counts[g] = more.(*countState).counts[0] - less.(*countState).counts[0]
	case *sumState:
		m, l := more.(*sumState), less.(*sumState)
		s.counts[g] = m.counts[0] - l.counts[0]
		// Modulo 2^128 and 2^256: the difference is right when it has a place.
		if s.isWide() {
			s.wide[g] = m.wide[0].Add(l.wide[0].Neg())
		} else {
			s.small[g] = m.small[0].Sub(l.small[0])
		}
	case *filteredState:
		SetDifference(s.State, g, more.(*filteredState).State, less.(*filteredState).State)
	}
}
