// Package robotscmd is curtsy robots: it judges URLs by a robots.txt, finds mistakes in one, and compares two.
package robotscmd
