// Prints the tables of a warehouse's database sys as Java Paimon 2.0.0 gives them. system-database.txt is its output
// for the warehouse that TestSystemDatabase makes of the fixtures:
//   java -Duser.timezone=UTC -cp 'PAIMON_JAVA_LIB/*' SystemDatabase.java WAREHOUSE 2>/dev/null | grep -v INFO
import java.util.*;
import org.apache.paimon.catalog.*;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.options.Options;
import org.apache.paimon.table.Table;
import org.apache.paimon.table.source.ReadBuilder;

public class SystemDatabase {
    public static void main(String[] args) throws Exception {
        Options options = new Options();
        options.set("warehouse", args[0]);
        Catalog catalog = CatalogFactory.createCatalog(CatalogContext.create(options));
        for (String name : new TreeSet<>(catalog.listTables("sys"))) {
            Table t = catalog.getTable(Identifier.create("sys", name));
            StringJoiner head = new StringJoiner("|");
            t.rowType().getFields().forEach(f -> head.add(f.name() + " " + f.type()));
            System.out.println("== " + name + "\n" + head);
            List<String> lines = new ArrayList<>();
            ReadBuilder b = t.newReadBuilder();
            b.newRead().createReader(b.newScan().plan()).forEachRemaining(row -> {
                StringJoiner line = new StringJoiner("|");
                for (int i = 0; i < t.rowType().getFieldCount(); i++) {
                    Object v = InternalRow.createFieldGetter(t.rowType().getTypeAt(i), i).getFieldOrNull(row);
                    line.add(v == null ? "null" : v.toString().replace(args[0], "WAREHOUSE"));
                }
                lines.add(line.toString());
            });
            Collections.sort(lines);
            lines.forEach(System.out::println);
        }
    }
}
