"""Stands in for an OpenTelemetry collector: prints what it is sent, decoded, as a line of JSON each. Needs grpcio and protobuf.

  otlp_collector.py PORT [PROTO_MODULE]
"""
import importlib
import json
import pathlib
import subprocess
import sys
import tempfile
from concurrent import futures

import grpc

ROOT = pathlib.Path(__file__).resolve().parents[3]
SERVICE = "opentelemetry.proto.collector.metrics.v1.MetricsService"


def messages():
    """Request and reply of the service; of the published definitions where that package is installed, else of profd's."""
    try:
        module = importlib.import_module("opentelemetry.proto.collector.metrics.v1.metrics_service_pb2")
    except ImportError:
        with tempfile.TemporaryDirectory() as directory:
            subprocess.run(["protoc", f"--python_out={directory}", "-I", str(ROOT / "proto/opentelemetry"), "metrics.proto"],
                           check=True)
            sys.path.insert(0, directory)
            module = importlib.import_module("metrics_pb2")
    return module.ExportMetricsServiceRequest, module.ExportMetricsServiceResponse


def attributes(pairs):
    return {pair.key: pair.value.string_value for pair in pairs}


def decoded(request):
    [resource] = request.resource_metrics
    [scope] = resource.scope_metrics
    metrics, time_ns = {}, 0
    for metric in scope.metrics:
        kind = metric.WhichOneof("data")
        data = getattr(metric, kind)
        entry = {"type": kind, "unit": metric.unit, "description": metric.description,
                 "points": [{"attributes": attributes(point.attributes), "value": point.as_double}
                            for point in data.data_points]}
        if kind == "sum":
            entry.update(monotonic=data.is_monotonic, temporality=data.aggregation_temporality)
        metrics[metric.name] = entry
        time_ns = data.data_points[0].time_unix_nano
    return {"resource": attributes(resource.resource.attributes), "scope": scope.scope.name, "time_ns": time_ns,
            "metrics": metrics}


def main():
    request_type, reply_type = messages()

    def export(request, _context):
        print(json.dumps(decoded(request)), flush=True)
        return reply_type()

    handler = grpc.unary_unary_rpc_method_handler(export, request_deserializer=request_type.FromString,
                                                  response_serializer=reply_type.SerializeToString)
    server = grpc.server(futures.ThreadPoolExecutor(2))
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, {"Export": handler}),))
    server.add_insecure_port(f"127.0.0.1:{sys.argv[1]}")
    server.start()
    print("listening", flush=True)
    server.wait_for_termination()


if __name__ == "__main__":
    main()
