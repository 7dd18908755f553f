// Package redactcmd is curtsy redact: takedown. It reads what is to be forgotten, has package redact do it, and makes
// anew what is derived: the mirror, packed files, the report. Other commands finish with it what a kill broke off.
package redactcmd
