package exec_test

import (
	"fmt"
	"os"
	"testing"
)

func TestAdhoc(t *testing.T) {
	q := os.Getenv("SQL")
	if q == "" {
		t.Skip()
	}
	e := semanticsEngine(t)
	fmt.Println(e.explain(t, q))
	a, err := e.run(q)
	fmt.Print(text(a.rows), err, "\n")
}
