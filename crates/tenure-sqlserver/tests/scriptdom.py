"""Reads files by Microsoft's own grammar of SQL Server 2019, and tells of every error.

Needs the packages pythonnet, dotnetcore2 (a runtime) and mssql-cli (which holds the grammar).
"""

import importlib.util
import json
import os
import sys
import tempfile


def folder_of(package):
    found = importlib.util.find_spec(package)
    if found is None or not found.submodule_search_locations:
        sys.exit(f"the package {package} is not there")
    return found.submodule_search_locations[0]


runtime = os.path.join(folder_of("dotnetcore2"), "bin")
grammar = os.path.join(
    folder_of("mssqlcli"), "mssqltoolsservice", "bin", "Microsoft.SqlServer.TransactSql.ScriptDom.dll"
)
os.environ["DOTNET_SYSTEM_GLOBALIZATION_INVARIANT"] = "1"
with tempfile.NamedTemporaryFile("w", suffix=".json", delete=False) as file:
    json.dump(
        {
            "runtimeOptions": {
                "tfm": "netcoreapp3.1",
                "framework": {"name": "Microsoft.NETCore.App", "version": "3.1.0"},
            }
        },
        file,
    )

from pythonnet import load

load("coreclr", dotnet_root=runtime, runtime_config=file.name)
os.unlink(file.name)

import clr

clr.AddReference(grammar)

from Microsoft.SqlServer.TransactSql.ScriptDom import TSql150Parser
from System.IO import StringReader

wrong = 0
for name in sys.argv[1:]:
    with open(name, encoding="utf-8") as text:
        _, errors = TSql150Parser(True).Parse(StringReader(text.read()), None)
    for error in errors:
        wrong += 1
        print(f"{os.path.basename(name)}, line {error.Line}, column {error.Column}: {error.Message}")
print(f"{len(sys.argv) - 1} texts were read")
sys.exit(1 if wrong else 0)
