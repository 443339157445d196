// Package monitoring takes the place of one that sends metrics to Google Cloud.
package monitoring

import (
	"context"
	"errors"

	"google.golang.org/api/option"
)

// MetricClient sends nothing.
type MetricClient struct{}

// NewMetricClient is called for telemetry that no configuration here names.
func NewMetricClient(context.Context, ...option.ClientOption) (*MetricClient, error) {
	return nil, errors.New("not in this Vault")
}
