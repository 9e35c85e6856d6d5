package expr

import (
	"github.com/thermocline/thermocline/internal/errs"
	"github.com/thermocline/thermocline/internal/vector"
)

// EXTRACTVALUE and UPDATEXML. The XML is scanned row by row (xml_scan.go); the XPath
// is a constant, parsed once (xml_path.go), and computed over the nodes
// (xml_eval.go). Malformed XML is NULL with a warning.

func init() {
	register(&function{name: "EXTRACTVALUE", min: 2, max: 2, class: "string", usage: "EXTRACTVALUE(xml, xpath)",
		doc:     "The texts of the nodes of an XML fragment that an XPath selects, with blanks between them, or the number or text that it computes. Some malformed XPaths that MySQL forgives are errors, and texts of syntax errors can differ.",
		resolve: func(ctx *Context, args []Expr) (Expr, error) { return xmlCall(ctx, "EXTRACTVALUE", args) }})
	register(&function{name: "UPDATEXML", min: 3, max: 3, class: "string", usage: "UPDATEXML(xml, xpath, new)",
		doc:     "An XML fragment with the node that an XPath selects replaced by new; as it is when the XPath selects none or more than one.",
		resolve: func(ctx *Context, args []Expr) (Expr, error) { return xmlCall(ctx, "UPDATEXML", args) }})
}

func xmlCall(ctx *Context, name string, args []Expr) (Expr, error) {
	path := args[1]
	if path.Traits()&ReadsColumns != 0 || calledName(path) == "RAND" {
		return nil, errs.Userf(errs.XPathSyntax, "Only constant XPATH queries are supported")
	}
	if _, ok := path.(*variableRead); !ok && path.Traits() != 0 {
		return nil, errs.Unsupportedf(-1, "%s with an XPath that may change from row to row", name)
	}
	s := spec{name: name, kinds: "t", ret: retText(longText), nullable: true}
	s.body = func(ev *evaluation) func(i int, out *vector.Vec) error {
		var item *xpathItem
		var text string
		return func(i int, out *vector.Vec) error {
			if p := string(ev.args[1].Bytes(i)); item == nil || p != text {
				var err error
				if item, err = parseXPath(p, ev.c.typ); err != nil {
					return err
				}
				text = p
			}
			doc, fault, err := scanXML(ev.args[0].Bytes(i))
			if err != nil {
				return err
			}
			if doc == nil {
				ev.ctx.warn("Warning", errs.InvalidXML, "Incorrect XML value: '%.128s'", fault)
				out.SetNull(i)
				return nil
			}
			quiet := ev.ctx.quiet()
			defer func() {
				for _, w := range quiet.Warnings.List() {
					ev.ctx.Warnings.Add(w)
				}
			}()
			r := &xpathRun{ctx: quiet, doc: doc, result: ev.c.typ}
			if name == "UPDATEXML" {
				if !item.isSet() {
					out.SetNull(i)
					return nil
				}
				in, err := r.set(item)
				if err != nil {
					return err
				}
				b := r.updated(in, ev.args[2].Bytes(i))
				if ev.tooLong(int64(len(b))) {
					out.SetNull(i)
					return nil
				}
				out.SetBytes(i, b)
				return nil
			}
			v, err := r.value(item)
			if err != nil {
				return err
			}
			if quiet.Warnings.Count() > 0 && item.calls() > 1 {
				return errs.Unsupportedf(-1, "XPath: several operations of texts that are no numbers")
			}
			if v.IsNull() {
				out.SetNull(i)
				return nil
			}
			out.SetBytes(i, AppendText(nil, v.Type, v.Vec, 0, ev.ctx.zone()))
			return nil
		}
	}
	e, err := s.call(ctx, args)
	if err != nil {
		return nil, err
	}
	// A constant XPath is checked though its XML may be NULL.
	if l, ok := path.(*LiteralExpr); ok && l.parameter == nil && !l.Val.IsNull() {
		if _, err := parseXPath(string(AppendText(nil, l.Val.Type, l.Val.Vec, 0, ctx.zone())), e.Type()); err != nil {
			return nil, err
		}
	}
	return e, nil
}
