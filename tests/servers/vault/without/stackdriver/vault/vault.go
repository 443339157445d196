// Package vault takes the place of one with Vault's own names for its metrics.
package vault

// Extractor and Bucketer are used for telemetry that no configuration here names.
var Extractor, Bucketer interface{}
