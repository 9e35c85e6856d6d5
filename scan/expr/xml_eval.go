package expr

import (
	"bytes"

	"github.com/thermocline/thermocline/internal/errs"
)

// xpathNode is a member of a node set. A node may be in a set more than once: what
// MySQL selects below two nodes of which one is above the other it selects twice.
type xpathNode struct {
	node int32
	pos  int32 // position() - 1
	size int32 // last(), where it is not 0
}

// xpathSet bounds node sets.
const xpathSet = 1 << 20

type xpathRun struct {
	ctx    *Context
	doc    *xmlDoc
	result Type // of texts
	steps  int
}

// set computes a node set.
func (r *xpathRun) set(x *xpathItem) ([]xpathNode, error) {
	switch x.op {
	case xpRoot:
		return []xpathNode{{}}, nil
	case xpContext:
		return x.nodes.set, nil
	}
	in, err := r.set(x.args[0])
	if err != nil {
		return nil, err
	}
	switch x.op {
	case xpStep:
		return r.step(x, in)
	case xpUnion:
		other, err := r.set(x.args[1])
		if err != nil {
			return nil, err
		}
		has := make([]bool, len(r.doc.nodes))
		for _, set := range [][]xpathNode{in, other} {
			for _, n := range set {
				has[n.node] = true
			}
		}
		return marked(has), nil
	}
	var out []xpathNode
	for _, n := range in {
		x.nodes.set = []xpathNode{{n.node, n.pos, int32(len(in))}}
		if x.op == xpFilter {
			yes, _, err := r.truth(x.args[1])
			if err != nil {
				return nil, err
			}
			if yes {
				out = append(out, xpathNode{node: n.node, pos: int32(len(out))})
			}
			continue
		}
		v, err := r.value(x.args[1])
		if err != nil {
			return nil, err
		}
		v, err = r.computed(asSigned(r.ctx, Literal(v)), nil)
		if err != nil {
			return nil, err
		}
		if !v.IsNull() && v.Vec.Values().I64s[0]-1 == int64(n.pos) {
			out = append(out, xpathNode{node: n.node, pos: int32(len(out))})
		}
	}
	return out, nil
}

func marked(has []bool) (out []xpathNode) {
	for i, yes := range has {
		if yes {
			out = append(out, xpathNode{node: int32(i), pos: int32(len(out))})
		}
	}
	return out
}

func (r *xpathRun) step(x *xpathItem, in []xpathNode) ([]xpathNode, error) {
	nodes := r.doc.nodes
	valid := func(i int32) bool { return x.any || string(r.doc.name(i)) == x.name }
	var out []xpathNode
	switch x.axis {
	case "self":
		for _, n := range in {
			if valid(n.node) {
				out = append(out, xpathNode{node: n.node})
			}
		}
		return out, nil
	case "parent":
		has := make([]bool, len(nodes))
		for _, n := range in {
			if p := nodes[n.node].parent; n.node != 0 && valid(p) {
				has[p] = true
			}
		}
		return marked(has), nil
	case "ancestor":
		has, pos := make([]bool, len(nodes)), int32(0)
		mark := func(i int32) {
			has[i] = true
			pos++
		}
		for _, n := range in {
			if x.self && valid(n.node) {
				mark(n.node)
			}
			for j := nodes[n.node].parent; nodes[j].parent != j; j = nodes[j].parent {
				if n.node != 0 && valid(j) {
					mark(j)
				}
			}
		}
		for i, yes := range has {
			if yes {
				pos--
				out = append(out, xpathNode{node: int32(i), pos: pos})
			}
		}
		return out, nil
	}
	kind := xmlElement
	if x.axis == "attribute" {
		kind = xmlAttribute
	}
	deep := x.axis == "descendant"
	for _, n := range in {
		pos := int32(0)
		if deep && x.self && valid(n.node) {
			out = append(out, xpathNode{node: n.node})
			pos++
		}
		level := nodes[n.node].level
		for j := n.node + 1; int(j) < len(nodes) && nodes[j].level > level; j++ {
			if r.steps++; r.steps%4096 == 0 {
				if err := r.ctx.Ended(); err != nil {
					return nil, err
				}
			}
			if nodes[j].kind != kind || !deep && nodes[j].parent != n.node || !valid(j) {
				continue
			}
			if len(out) >= xpathSet {
				return nil, errs.Unsupportedf(-1, "XPath: sets of more than %d nodes", xpathSet)
			}
			out = append(out, xpathNode{node: j, pos: pos})
			pos++
		}
	}
	return out, nil
}

// eachText calls f with the texts right below the nodes of a set, those of every
// node for itself, until f gives false.
func (r *xpathRun) eachText(in []xpathNode, f func(text []byte) (bool, error)) error {
	nodes := r.doc.nodes
	for _, n := range in {
		level := nodes[n.node].level
		for j := n.node + 1; int(j) < len(nodes) && nodes[j].level > level; j++ {
			if nodes[j].parent == n.node && nodes[j].kind == xmlText {
				if more, err := f(r.doc.name(j)); err != nil || !more {
					return err
				}
			}
		}
	}
	return nil
}

// text is a set as text: the texts right below its nodes, in the order of the
// document, with blanks between them.
func (r *xpathRun) text(in []xpathNode) []byte {
	has := make([]bool, len(r.doc.nodes))
	for _, n := range in {
		has[n.node] = true
	}
	var out []byte
	for i, n := range r.doc.nodes {
		if n.kind == xmlText && has[n.parent] {
			if len(out) > 0 {
				out = append(out, ' ')
			}
			out = append(out, r.doc.name(int32(i))...)
		}
	}
	return out
}

// computed is the value of an expression over constants.
func (r *xpathRun) computed(e Expr, err error) (Value, error) {
	if err != nil {
		return Value{}, err
	}
	return EvalConst(r.ctx, e)
}

func (r *xpathRun) value(x *xpathItem) (Value, error) {
	if x.isSet() {
		in, err := r.set(x)
		return xpathText(string(r.text(in)), r.result), err
	}
	switch x.op {
	case xpLiteral:
		return x.value, nil
	case xpCall:
		args := make([]Expr, len(x.args))
		for i, a := range x.args {
			v, err := r.value(a)
			if err != nil {
				return v, err
			}
			args[i] = Literal(v)
		}
		if x.fn == "number" {
			v, err := r.computed(asDouble(r.ctx, args[0]), nil)
			v.Type.Scale = TDouble.Scale
			return v, err
		}
		if x.fn != "DIV" && x.fn != "SUBSTRING" && x.fn != "CONCAT" {
			e, err := Call(r.ctx, x.fn, args...)
			return r.computed(e, err)
		}
		// The warnings of these, and what they make of NULL, are MySQL's own.
		for _, a := range args {
			if a.(*LiteralExpr).Val.IsNull() {
				return Value{}, errs.Unsupportedf(-1, "XPath: %s of NULL", lower(x.fn))
			}
		}
		quiet := r.ctx.quiet()
		e, err := Call(quiet, x.fn, args...)
		if err != nil {
			return Value{}, err
		}
		v, err := EvalConst(quiet, e)
		if list := quiet.Warnings.List(); err == nil && len(list) > 0 {
			if len(list) > 1 || list[0].Kind != errs.DivisionByZero {
				return Value{}, errs.Unsupportedf(-1, "XPath: %s of texts that are no numbers", lower(x.fn))
			}
			r.ctx.Warnings.Add(list[0])
		}
		return v, err
	case xpCount, xpPosition, xpSum:
		return r.ofSet(x)
	}
	yes, null, err := r.truth(x)
	if null {
		return NullValue(), err
	}
	return BoolValue(yes), err
}

// ofSet is a number that tells about a set.
func (r *xpathRun) ofSet(x *xpathItem) (Value, error) {
	in, err := r.set(x.args[0])
	if err != nil {
		return Value{}, err
	}
	switch {
	case x.op == xpCount && len(in) == 1 && in[0].size > 0:
		return IntValue(int64(in[0].size)), nil
	case x.op == xpCount:
		return IntValue(int64(len(in))), nil
	case x.op == xpPosition && len(in) == 1:
		return IntValue(int64(in[0].pos) + 1), nil
	case x.op == xpPosition:
		return IntValue(0), nil
	}
	sum, quiet := 0.0, r.ctx.quiet()
	err = r.eachText(in, func(text []byte) (bool, error) {
		v, err := EvalConst(quiet, asDouble(quiet, Literal(xpathText(string(text), r.result))))
		if err == nil && !v.IsNull() {
			sum += v.Vec.Values().F64s[0]
		}
		return true, err
	})
	return DoubleValue(sum), err
}

// truth computes a truth value.
func (r *xpathRun) truth(x *xpathItem) (yes, null bool, err error) {
	switch x.op {
	case xpNot:
		yes, null, err = r.truth(x.args[0])
		return !yes, null, err
	case xpAnd, xpOr:
		end := x.op == xpOr
		for _, a := range x.args {
			y, n, err := r.truth(a)
			if err != nil || !n && y == end {
				return end, false, err
			}
			null = null || n
		}
		return !end, null, nil
	case xpBool:
		if x.args[0].isSet() {
			in, err := r.set(x.args[0])
			return len(in) == 1, false, err // MySQL: two nodes are no truth
		}
		yes, _, err = r.truth(x.args[0])
		return yes, false, err
	case xpCompare:
		in, err := r.set(x.args[0])
		if err != nil {
			return false, false, err
		}
		err = r.eachText(in, func(text []byte) (bool, error) {
			v, err := r.value(x.args[1])
			if err != nil {
				return false, err
			}
			e, err := Call(r.ctx, x.fn, Literal(xpathText(string(text), r.result)), Literal(v))
			v, err = r.computed(e, err)
			yes = err == nil && isTrue(v)
			return !yes, err
		})
		return yes, false, err
	case xpSubstrings:
		a, err := r.value(x.args[0])
		if err != nil {
			return false, false, err
		}
		b, err := r.value(x.args[1])
		if err != nil {
			return false, false, err
		}
		e, err := Call(r.ctx, "INSTR", Literal(a), Literal(b))
		v, err := r.computed(e, err)
		if err != nil || v.IsNull() {
			return false, true, err
		}
		return v.Vec.Values().I64s[0] != 0, false, nil
	}
	v, err := r.value(x)
	if err != nil || v.IsNull() {
		return false, true, err
	}
	if v.Type.Class != Bool {
		e, err := Call(r.ctx, "<>", Literal(v), Literal(IntValue(0)))
		if v, err = r.computed(e, err); err != nil {
			return false, false, err
		}
	}
	return isTrue(v), v.IsNull(), nil
}

// isTrue is whether a truth value is true.
func isTrue(v Value) bool { return !v.IsNull() && v.Vec.Values().I8s[0] != 0 }

// updated is the document with the one node of a set replaced; as it is when there
// are none or more.
func (r *xpathRun) updated(in []xpathNode, by []byte) []byte {
	t := r.doc.text
	if len(in) != 1 {
		return t
	}
	n := r.doc.nodes[in[0].node]
	if n.level == 0 {
		return by
	}
	beg, end := int(n.beg), int(n.tail)
	if n.kind == xmlElement {
		beg, end = beg-1, min(end+1, len(t))
	}
	return bytes.Join([][]byte{t[:beg], by, t[end:]}, nil)
}

// calls is how many operations may raise warnings.
func (x *xpathItem) calls() int {
	n := 0
	switch x.op {
	case xpCall, xpCompare, xpBool, xpNot, xpAnd, xpOr, xpIndex:
		n = 1
	}
	for _, a := range x.args {
		n += a.calls()
	}
	return n
}
