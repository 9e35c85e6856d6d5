package syntax

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// ignored fields do not take part in the equality of trees: where and how a
// thing was written.
var ignored = map[string]bool{
	"SelectItem.Text": true, "CreateTable.QueryText": true, "CreateView.QueryText": true, "Unsupported.Text": true,
	"AlterOther.Text": true, "Binary.Symbol": true, "Ident.Quoted": true, "Join.paren": true, "TableName.HintPos": true, "ExecutePipeline.YAMLPos": true,
	"StatementSet.At": true,
}

// treeDiff returns the path of the first difference of two trees, or "".
func treeDiff(a, b any) string { return diffValues("", reflect.ValueOf(a), reflect.ValueOf(b)) }

func diffValues(path string, a, b reflect.Value) string {
	if a.IsValid() != b.IsValid() {
		return path + ": one is absent"
	}
	if !a.IsValid() {
		return ""
	}
	if a.Type() != b.Type() {
		return fmt.Sprintf("%s: %v and %v", path, a.Type(), b.Type())
	}
	switch a.Kind() {
	case reflect.Interface, reflect.Pointer:
		if a.IsNil() != b.IsNil() {
			return path + ": one is nil"
		}
		if a.IsNil() {
			return ""
		}
		return diffValues(path, a.Elem(), b.Elem())
	case reflect.Slice:
		if a.Len() != b.Len() {
			return fmt.Sprintf("%s: %d and %d elements", path, a.Len(), b.Len())
		}
		for i := 0; i < a.Len(); i++ {
			if d := diffValues(fmt.Sprintf("%s[%d]", path, i), a.Index(i), b.Index(i)); d != "" {
				return d
			}
		}
		return ""
	case reflect.Struct:
		for i := 0; i < a.NumField(); i++ {
			f := a.Type().Field(i)
			if f.Name == "At" || ignored[a.Type().Name()+"."+f.Name] {
				continue
			}
			if d := diffValues(path+"."+f.Name, a.Field(i), b.Field(i)); d != "" {
				return d
			}
		}
		return ""
	}
	if !a.Equal(b) {
		return fmt.Sprintf("%s: %v and %v", path, a, b)
	}
	return ""
}

// roundTrip prints a tree, parses the text and compares.
func roundTrip(s Statement) error {
	text := String(s)
	back, err := ParseOne(text, Options{})
	if err != nil {
		return fmt.Errorf("printed %s\n%w", text, err)
	}
	if d := treeDiff(s, back.Statement); d != "" {
		return fmt.Errorf("printed %s\ndifference at %s", text, d)
	}
	if _, ok := s.(*Unsupported); ok {
		return nil // the text is cut from its surroundings, which may matter: "--" at the end
	}
	if again := String(back.Statement); again != text {
		return fmt.Errorf("printed %s\nthen    %s", text, again)
	}
	return nil
}

// TestRoundTripCorpus prints and reparses every statement of the shared data.
func TestRoundTripCorpus(t *testing.T) {
	seen := map[string]bool{}
	bad := 0
	for _, c := range readCorpus(t) {
		if seen[c.sql] {
			continue
		}
		seen[c.sql] = true
		if strings.Contains(c.where, "logictest") && len(seen)%10 != 0 {
			continue
		}
		list, err := Parse(c.sql, c.options)
		if err != nil {
			continue
		}
		for _, s := range list {
			if err := roundTrip(s.Statement); err != nil {
				t.Errorf("%s: %s\n%v", c.where, c.sql, err)
				if bad++; bad > 30 {
					t.FailNow()
				}
			}
		}
	}
}

// checkPositions verifies that every position lies inside the statement.
func checkPositions(s Parsed) error {
	var err error
	Walk(s.Statement, func(n Node) bool {
		if n.Pos() < s.Start || n.Pos() > s.End {
			err = fmt.Errorf("%T at %d outside of %d–%d", n, n.Pos(), s.Start, s.End)
		}
		return err == nil
	})
	return err
}

func TestPositionsCorpus(t *testing.T) {
	for _, c := range readCorpus(t) {
		if strings.HasPrefix(c.where, "/") && strings.Contains(c.where, "logictest") {
			continue
		}
		list, err := Parse(c.sql, c.options)
		if err != nil {
			continue
		}
		for _, s := range list {
			if err := checkPositions(s); err != nil {
				t.Errorf("%s: %v", c.sql, err)
			}
		}
	}
}
