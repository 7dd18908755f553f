// Package cli has the parts that all commands share: streams, exit codes, errors, arguments, flags, help and signals.
// It knows no command.
//
// A command returns an error; Report prints it, with what to do about it, and says which exit code it has.
package cli
