// Package lint tests the repository's own rules; see lint_test.go.
package lint
